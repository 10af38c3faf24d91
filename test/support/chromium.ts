import { existsSync } from 'node:fs';

const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** A Chromium installed on the system; `undefined` if there is none. */
export const chromiumPath = places.find((path) => existsSync(path));
