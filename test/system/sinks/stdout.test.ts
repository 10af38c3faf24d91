import { execFile } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { PassThrough, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { Column, Row } from '../../../src/core/index.js';
import { ClosedPipeError, stdout, type StdoutOptions } from '../../../src/sinks/index.js';
import { pageOf } from '../../support/pages.js';
import { column, facts, recording, writeAll } from '../../support/sinks.js';

const columns = [column('uid'), column('email', 'text', { original: 'E MAIL' })];

async function shown(options: StdoutOptions, columns: readonly Column[], ...pages: (readonly Row[])[]): Promise<string> {
  const stream = new PassThrough();
  const output = text(stream);
  await writeAll(stdout(options, { ...recording('.'), stdout: stream }), columns, ...pages);
  stream.end();
  return output;
}

describe('stdout', () => {
  test('writes JSON lines by default', async () => {
    expect(await shown({}, columns, [{ uid: '1', email: 'a' }])).toBe('{"uid":"1","E MAIL":"a"}\n');
  });

  test('writes CSV', async () => {
    expect(await shown({ format: 'csv' }, columns, [{ uid: '1', email: 'a,b' }], [{ uid: '2', email: null }])).toBe(
      'uid,E MAIL\n1,"a,b"\n2,\n',
    );
  });

  test('writes an aligned table', async () => {
    expect(
      await shown({ format: 'table' }, columns, [
        { uid: '1', email: 'a@b.c' },
        { uid: '1234', email: null },
      ]),
    ).toBe(['uid   E MAIL', '----  ------', '1     a@b.c', '1234', ''].join('\n'));
  });

  test('takes the widths of a table from the first page and cuts what is wider later', async () => {
    expect(await shown({ format: 'table' }, [column('uid'), column('b')], [{ uid: '1', b: 'x' }], [{ uid: '12345', b: 'y' }])).toBe(
      ['uid  b', '---  -', '1    x', '12…  y', ''].join('\n'),
    );
  });

  test('cuts a table column at max_width', async () => {
    expect(await shown({ format: 'table', max_width: 4 }, [column('uid')], [{ uid: '123456' }])).toBe('uid\n----\n123…\n');
  });

  test('keeps values from steering the terminal', async () => {
    expect(await shown({ format: 'table' }, [column('a')], [{ a: '\u001b[2Jx\ny' }])).not.toMatch(/\u001b|x\ny/);
  });

  test('shows the header of a table without rows', async () => {
    expect(await shown({ format: 'table' }, columns)).toBe('uid  E MAIL\n---  ------\n');
  });

  test('publishes nothing', async () => {
    const writer = await stdout({}, { ...recording('.'), stdout: new PassThrough().resume() });
    await writer.begin(columns);
    const prepared = await writer.prepare();
    expect(prepared.path).toBeUndefined();
    expect(await prepared.actions(facts)).toEqual([]);
  });

  test.each(['ndjson', 'csv', 'table'] as const)('shows a page as %s before the next one is there', async (format) => {
    const stream = new PassThrough();
    const writer = await stdout({ format }, { ...recording('.'), stdout: stream });
    await writer.begin(columns);
    for (const uid of ['7', '8']) {
      await writer.write(pageOf(1, [{ uid, email: 'a@b.c' }]));
      expect(String(stream.read())).toMatch(new RegExp(`${uid}.*a@b\\.c.*\n$`));
    }
  });

  test('waits for a slow reader', async () => {
    let release = (): void => undefined;
    const slow = new Writable({ write: (_chunk, _encoding, done) => (release = done) });
    const writer = await stdout({}, { ...recording('.'), stdout: slow });
    await writer.begin(columns);
    let done = false;
    const write = writer.write(pageOf(1, [{ uid: '1', email: null }])).then(() => (done = true));
    await new Promise(setImmediate);
    expect(done).toBe(false);
    release();
    await write;
    expect(done).toBe(true);
  });

  test('tells a closed pipe from other failures', async () => {
    const child = execFile('true');
    const pipe = child.stdin ?? new PassThrough();
    await new Promise((resolve) => child.on('close', resolve));
    const writer = await stdout({}, { ...recording('.'), stdout: pipe });
    await writer.begin(columns);
    await expect(writer.write(pageOf(1, [{ uid: '1', email: null }]))).rejects.toBeInstanceOf(ClosedPipeError);
  });

  test('tells a full disk behind a redirection', async () => {
    const full = createWriteStream('/dev/full');
    const writer = await stdout({}, { ...recording('.'), stdout: full });
    await writer.begin(columns);
    const failure: unknown = await writer.write(pageOf(1, [{ uid: '1', email: null }])).catch((thrown: unknown) => thrown);
    expect(failure).toMatchObject({ code: 'E_SINK_WRITE', message: expect.stringContaining('ENOSPC') });
    expect(failure).not.toBeInstanceOf(ClosedPipeError);
  });

  test('listens for errors of a stream once, however many sinks use it', async () => {
    const stream = new PassThrough();
    for (let count = 0; count < 12; count += 1) await stdout({}, { ...recording('.'), stdout: stream });
    expect(stream.listenerCount('error')).toBe(1);
  });
});
