"""Runs a script for many callers, one after the other, because it takes seconds to load the modules that it uses."""

import contextlib
import io
import json
import os
import sys
import traceback


def serve(main):
    """Calls main with the arguments of each line of stdin, and answers with a line that has what it printed, or why it failed."""
    for line in sys.stdin:
        call = json.loads(line)
        os.environ.update(call["env"])
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed):
                main(*call["args"])
            answer = {"printed": printed.getvalue()}
        except Exception:
            answer = {"failure": traceback.format_exc()}
        print(json.dumps(answer), flush=True)
