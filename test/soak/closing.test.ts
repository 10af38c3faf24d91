import { start } from '../support/cli.js';

test.each([0, 1])('nothing is left of 300 reads that were cancelled in whatever way, with %i threads', async (threads) => {
  const rounds = 34;
  const child = start(process.execPath, ['--expose-gc', 'test/support/cancelling-child.mjs', String(threads), String(rounds)], {
    cwd: process.cwd(),
  });
  const { code, stdout, stderr } = await child.finished;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const { outcomes, resources, left, heap } = JSON.parse(stdout);
  expect(Object.values(outcomes)).toEqual(Array.from({ length: 9 }, () => ({ rounds, connections: true })));
  expect(resources).toEqual(['TCPServerWrap']);
  expect(left).toEqual({ sockets: 0, threads: 0 });
  expect(heap.last).toBeLessThan(heap.first * 1.2);
});
