import { expect, test } from '@jest/globals';
import { cli } from '../support/cli.js';
import { pipelineText, service } from '../support/services.js';
import { folderWith } from '../support/temporary.js';
import { token, webhook } from '../support/webhook.js';

test('a run waits no longer than two times five seconds for a webhook that hangs', async () => {
  const { url, told } = await webhook(['hang']);
  const from = await service();
  const cwd = await folderWith({
    'p.yaml': pipelineText('on_success: { webhook: "${HOOK}" }\nfrom: users\nto:\n  - csv: { path: users.csv }'),
  });
  const started = performance.now();
  const { code, stderr } = await cli(['run', 'p.yaml'], { cwd, env: { ...from.env, HOOK: url } });
  expect({ code, told: told.length }).toEqual({ code: 0, told: 2 });
  expect(performance.now() - started).toBeGreaterThan(10_000);
  expect(stderr).toMatch(/W_RUN_HOOK: on_success: .* no response in time/);
  expect(stderr).not.toContain(token);
});
