import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import { setTimeout as wait } from 'node:timers/promises';
import type * as SDK from '@aws-sdk/client-s3';
import { nodeRequire, SinkError, soonAfter, stoppedBy } from '../core/index.js';
import { type FinishedFile, isFile, type ObjectBody, type ObjectEntry, type ObjectStore, sha256Of, unversioned } from './objects.js';
import { faultOf, s3Failure } from './s3-failure.js';

/** Where a bucket is. What is absent comes from the SDK's environment, as credentials always do. */
export interface S3Settings {
  readonly region?: string | undefined;
  readonly endpoint?: string | undefined;
  /** Whether URLs have the bucket in the path, not in the name of the host. Default: whether there is an endpoint, here or in the environment. */
  readonly path_style?: boolean | undefined;
  /** Accepts a store that overwrites objects in spite of conditions, or without an ETag to name in one. */
  readonly single_writer?: boolean | undefined;
}

const sdkPackage = '@aws-sdk/client-s3';

function loaded(): typeof SDK {
  process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] ??= 'true';
  try {
    return nodeRequire()(sdkPackage) as typeof SDK;
  } catch {
    throw new SinkError('E_SINK_CONFIG', `s3:// needs a package that is not installed: npm install ${sdkPackage}`);
  }
}

/** Objects below a prefix of a bucket, by `@aws-sdk/client-s3`. */
export class S3Objects implements ObjectStore {
  readonly root: string;
  readonly #sdk = loaded();
  readonly #client: SDK.S3Client;
  readonly #bucket: string;
  /** What the keys in the bucket begin with. */
  readonly #base: string;
  /** The version of an object for which the store gives no ETag. */
  readonly #missingVersion: string;

  /**
   * @param place `s3://bucket/prefix`.
   * @param partBytes A larger file is uploaded in parts of this size.
   * @throws {SinkError} `E_SINK_CONFIG` if the place has no bucket, or the package is not installed.
   */
  constructor(
    place: string,
    {
      region,
      endpoint = process.env['AWS_ENDPOINT_URL_S3'] || process.env['AWS_ENDPOINT_URL'] || undefined,
      path_style,
      single_writer = false,
    }: S3Settings = {},
    private readonly partBytes = 64 << 20,
    readonly signal?: AbortSignal,
  ) {
    const [, bucket, prefix = ''] = /^s3:\/\/([^/]+)(?:\/(.*?))?\/*$/.exec(place) ?? [];
    if (bucket === undefined) throw new SinkError('E_SINK_CONFIG', `${place} names no bucket; write s3://bucket/prefix`);
    this.#bucket = bucket;
    this.#missingVersion = single_writer ? 'of a single writer' : '';
    this.#base = prefix === '' ? '' : `${prefix}/`;
    this.root = ['s3:/', bucket, ...(prefix === '' ? [] : [prefix])].join('/');
    this.#client = new this.#sdk.S3Client({
      ...(region === undefined ? {} : { region }),
      ...(endpoint === undefined ? {} : { endpoint }),
      forcePathStyle: path_style ?? endpoint !== undefined,
      // Many stores refuse the SDK's checksums, while all verify an MD5.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      // What may be repeated is decided here.
      maxAttempts: 1,
      requestHandler: { connectionTimeout: 10_000, socketTimeout: 60_000 },
      // Otherwise it writes warnings to stderr.
      logger: { debug: ignore, info: ignore, warn: ignore, error: ignore },
    });
  }

  read(key: string) {
    return this.#found('read', key, async (how) => {
      const { Body, ETag } = await this.#client.send(new this.#sdk.GetObjectCommand(this.#at(key)), how);
      return { bytes: Buffer.from((await Body?.transformToByteArray()) ?? []), version: ETag || this.#missingVersion };
    });
  }

  find(key: string) {
    return this.#found('find', key, async (how) => {
      const { ContentLength = 0, ETag, Metadata } = await this.#client.send(new this.#sdk.HeadObjectCommand(this.#at(key)), how);
      return { bytes: ContentLength, version: ETag || this.#missingVersion, sha256: Metadata?.['sha256'] };
    });
  }

  create(key: string, body: ObjectBody): Promise<string> {
    return this.#sent('create', key, (how) => this.#put(key, body, { IfNoneMatch: '*' }, how), 1);
  }

  async replace(key: string, body: ObjectBody, version: string): Promise<string> {
    // The SDK would send an empty condition, which some stores take for none.
    if (version === '') throw unversioned(`${this.root}/${key}`);
    const condition = version === this.#missingVersion ? {} : { IfMatch: version };
    return this.#sent('replace', key, (how) => this.#put(key, body, condition, how), 1);
  }

  async put(key: string, body: string): Promise<void> {
    await this.#sent('write', key, (how) => this.#put(key, body, {}, how));
  }

  async upload(key: string, file: FinishedFile): Promise<void> {
    try {
      if (file.bytes > this.partBytes) await this.#uploadParts(key, file);
      else await this.#sent('upload', key, (how) => this.#put(key, file, { IfNoneMatch: '*' }, how));
    } catch (failure) {
      const found = this.signal?.aborted ? undefined : await this.find(key);
      if (found?.sha256 !== file.sha256 || found.bytes !== file.bytes) throw failure;
    }
  }

  async download(key: string, path: string): Promise<void> {
    await this.#sent('download', key, async (how) => {
      const { Body } = await this.#client.send(new this.#sdk.GetObjectCommand(this.#at(key)), how);
      await pipeline(Body instanceof Readable ? Body : [], createWriteStream(path, { mode: 0o600 }));
    });
  }

  async *list(prefix: string): AsyncIterable<ObjectEntry> {
    let next: string | undefined;
    do {
      const command = new this.#sdk.ListObjectsV2Command({ Bucket: this.#bucket, Prefix: this.#base + prefix, ContinuationToken: next });
      const { Contents = [], NextContinuationToken } = await this.#sent('list', prefix, (how) => this.#client.send(command, how));
      for (const { Key = '', Size = 0 } of Contents) yield { key: Key.slice(this.#base.length), bytes: Size };
      next = NextContinuationToken;
    } while (next !== undefined);
  }

  async remove(keys: readonly string[]): Promise<void> {
    // One by one, since not every store has the request for many.
    const rest = [...keys];
    const removing = async () => {
      for (let key = rest.pop(); key !== undefined; key = rest.pop()) {
        const command = new this.#sdk.DeleteObjectCommand(this.#at(key));
        await this.#found('remove', key, (how) => this.#client.send(command, how));
      }
    };
    await Promise.all(Array.from({ length: 8 }, removing));
  }

  async abortUploads(prefix: string): Promise<void> {
    const command = new this.#sdk.ListMultipartUploadsCommand({ Bucket: this.#bucket, Prefix: this.#base + prefix });
    const { Uploads = [] } = await this.#sent('list uploads in', prefix, (how) => this.#client.send(command, how));
    for (const { Key = '', UploadId } of Uploads) await this.#abort(Key.slice(this.#base.length), UploadId);
  }

  async #abort(key: string, UploadId: string | undefined): Promise<void> {
    const command = new this.#sdk.AbortMultipartUploadCommand({ ...this.#at(key), UploadId });
    await this.#found('abort the upload of', key, (how) => this.#client.send(command, how));
  }

  /** One request, whatever the size. */
  async #put(key: string, body: ObjectBody, condition: { IfMatch?: string; IfNoneMatch?: string }, how: How): Promise<string> {
    const Metadata = { sha256: await sha256Of(body) };
    return withBytes(body, 0, isFile(body) ? body.bytes : Buffer.byteLength(body), async (content) => {
      const command = new this.#sdk.PutObjectCommand({ ...this.#at(key), ...content, ...condition, Metadata });
      const { ETag } = await this.#client.send(command, how);
      return ETag || this.#missingVersion;
    });
  }

  async #uploadParts(key: string, file: FinishedFile): Promise<void> {
    const begin = new this.#sdk.CreateMultipartUploadCommand({ ...this.#at(key), Metadata: { sha256: await sha256Of(file) } });
    const { UploadId } = await this.#sent('upload', key, (how) => this.#client.send(begin, how));
    const at = { ...this.#at(key), UploadId };
    try {
      const Parts: SDK.CompletedPart[] = [];
      for (let from = 0; from < file.bytes; from += this.partBytes) {
        const PartNumber = Parts.length + 1;
        const to = Math.min(file.bytes, from + this.partBytes);
        const { ETag } = await this.#sent('upload', key, (how) =>
          withBytes(file, from, to, (content) =>
            this.#client.send(new this.#sdk.UploadPartCommand({ ...at, ...content, PartNumber }), how),
          ),
        );
        Parts.push({ PartNumber, ETag });
      }
      const end = new this.#sdk.CompleteMultipartUploadCommand({ ...at, IfNoneMatch: '*', MultipartUpload: { Parts } });
      await this.#sent('upload', key, (how) => this.#client.send(end, how));
    } catch (failure) {
      await this.#abort(key, UploadId).catch(ignore);
      throw failure;
    } finally {
      // One was begun twice if the first reply was lost.
      await this.abortUploads(key).catch(ignore);
    }
  }

  #at(key: string) {
    return { Bucket: this.#bucket, Key: this.#base + key };
  }

  /** As `#sent`, for an object that may be missing. */
  #found<T>(what: string, key: string, request: (how: How) => Promise<T>): Promise<T | undefined> {
    return this.#sent(what, key, (how) =>
      request(how).catch((thrown: unknown) => {
        const { name, status } = faultOf(thrown);
        if (status !== 404 || name === 'NoSuchBucket') throw thrown;
        return undefined;
      }),
    );
  }

  /** Repeats a request that fails for a moment, waiting with full jitter. */
  async #sent<T>(what: string, key: string, request: (how: How) => Promise<T>, attempts = maxAttempts): Promise<T> {
    try {
      if (this.signal && transfers.has(what)) return await request({ abortSignal: this.signal });
      return await soonAfter(this.signal, (abortSignal) => request({ abortSignal }));
    } catch (thrown) {
      const { passing } = faultOf(thrown);
      if (passing && this.signal?.aborted) throw stoppedBy(this.signal, `the run was stopped; it could not ${what} ${this.root}/${key}`);
      if (attempts === 1 || !passing) throw s3Failure(thrown, what, `${this.root}/${key}`);
    }
    await wait(Math.random() * 200 * 2 ** (maxAttempts - attempts), undefined, { signal: this.signal }).catch(ignore);
    return this.#sent(what, key, request, attempts - 1);
  }
}

/** What is cut at once when a run is stopped; other requests decide or clean up, and end soon. */
const transfers: ReadonlySet<string> = new Set(['upload', 'download']);

type How = { readonly abortSignal: AbortSignal };
type Content = Pick<SDK.PutObjectCommandInput, 'Body' | 'ContentLength' | 'ContentMD5'>;

/** Sends a part of a body with its MD5. */
async function withBytes<T>(body: ObjectBody, from: number, to: number, send: (content: Content) => Promise<T>): Promise<T> {
  const md5 = createHash('md5');
  const read = bytesOf(body, from, to);
  for await (const chunk of read instanceof Readable ? read : [read]) md5.update(chunk as Buffer | string);
  const Body = bytesOf(body, from, to);
  try {
    return await send({ Body, ContentLength: to - from, ContentMD5: md5.digest('base64') });
  } finally {
    if (Body instanceof Readable) await finished(Body.destroy()).catch(ignore);
  }
}

function bytesOf(body: ObjectBody, from: number, to: number): string | Buffer | Readable {
  if (!isFile(body)) return body;
  return from < to ? createReadStream(body.path, { start: from, end: to - 1 }) : '';
}

const maxAttempts = 8;

function ignore(): void {}
