import { cli } from '../../support/cli.js';
import { service } from '../../support/services.js';
import { temporaryFolder } from '../../support/temporary.js';

describe('leadstream fetch', () => {
  test('prints the columns that are named, of a list and of a record, and refuses unknown ones', async () => {
    const [from, cwd] = [await service(), await temporaryFolder()];
    const fetched = (...words: string[]) => cli(['fetch', ...words], { cwd, env: from.env });
    const list = await fetched('users', '--columns', 'affid,uid', '--format', 'csv');
    expect(list.stdout.split('\n')[0]).toBe('affid,uid');
    const id = list.stdout.split('\n')[1]?.split(',')[1] ?? '';
    expect(JSON.parse((await fetched('users', id, '--columns', 'uid')).stdout)).toEqual({ uid: id });
    expect(await fetched('users', '--columns', 'uidd')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("unknown column 'uidd'"),
    });
  });

  test('prints the record with an identifier, without its credentials, and exits with 1 when there is none', async () => {
    const [from, cwd] = [await service(), await temporaryFolder()];
    const list = await cli(['fetch', 'bridges', '--quiet'], { cwd, env: from.env });
    const first: unknown = JSON.parse(list.stdout.split('\n')[0] ?? '');
    const id = (first as { id: string }).id;
    const { code, stdout } = await cli(['fetch', 'bridges', id], { cwd, env: from.env });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual(first);
    expect(stdout).not.toContain('CRM_KEY');
    const none = await cli(['fetch', 'leads', 'nobody'], { cwd, env: from.env });
    expect(none).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('no leads with the identifier nobody') });
  });

  test.each([[['users']], [['users', '1']]])('says of %j whose key was refused, and never the key', async (words) => {
    const from = await service();
    const { code, stderr } = await cli(['fetch', ...words], {
      cwd: await temporaryFolder(),
      env: { ...from.env, LEADSTREAM_REST_API_KEY: 'wrong-key' },
    });
    expect({ code, stderr }).toEqual({
      code: 77,
      stderr: expect.stringContaining('refused the credentials; rest_api_key is from LEADSTREAM_REST_API_KEY'),
    });
    expect(stderr).not.toContain('wrong-key');
  });

  test.each([
    [['--page-size', '200'], 200],
    [[], 30], // as files without service.limit
  ])('asks with %j for %i rows per request, and prints them all', async (words, limit) => {
    const [from, cwd] = [await service(), await temporaryFolder()];
    const { stdout } = await cli(['fetch', 'users', ...words, '--quiet'], { cwd, env: from.env });
    expect(stdout.trim().split('\n')).toHaveLength(300);
    expect(from.requests).toContain(`users?page=2&limit=${limit}`);
  });
});
