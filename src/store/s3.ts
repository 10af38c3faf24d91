import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { finished, pipeline } from 'node:stream/promises';
import { setTimeout as wait } from 'node:timers/promises';
import type * as SDK from '@aws-sdk/client-s3';
import { missingPackage, nodeRequire, SinkError, soonAfter, stoppedBy } from '../core/index.js';
import { type FinishedFile, isFile, type ObjectBody, type ObjectEntry, type ObjectStore, sha256Of, unversioned } from './objects.js';
import { s3FaultOf, s3Failure } from './s3-failure.js';

/** Where a place is, as far as its scheme needs it. The SDK's environment has the rest, and always the credentials. */
export interface StoreSettings {
  readonly region?: string | undefined;
  readonly endpoint?: string | undefined;
  /** Whether URLs have the bucket in the path instead of the host name. Default: whether an endpoint is set, here or in the environment. */
  readonly path_style?: boolean | undefined;
  /** Accepts a store that overwrites objects in spite of conditions, or without ETags for them. */
  readonly single_writer?: boolean | undefined;
}

const sdkPackage = '@aws-sdk/client-s3';

export function missingSDK(): string | undefined {
  return missingPackage(sdkPackage, 's3://');
}

function loaded(): typeof SDK {
  process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] ??= 'true';
  const missing = missingSDK();
  if (missing !== undefined) throw new SinkError('E_SINK_CONFIG', missing);
  return nodeRequire()(sdkPackage) as typeof SDK;
}

/** Objects below a prefix of a bucket, by `@aws-sdk/client-s3`. */
export class S3Objects implements ObjectStore {
  readonly root: string;
  readonly #sdk = loaded();
  readonly #client: SDK.S3Client;
  readonly #bucket: string;
  readonly #base: string;
  /** The version of an object without an ETag. */
  readonly #missingVersion: string;

  /**
   * @param place `s3://bucket/prefix`.
   * @param partBytes A larger file is uploaded in parts of this size.
   * @param pace What an attempt has to transfer in a time, unless it ends within it.
   * @throws {SinkError} `E_SINK_CONFIG` for a place without a bucket, or without the package.
   */
  constructor(
    place: string,
    { region, endpoint: given, path_style, single_writer = false }: StoreSettings = {},
    private readonly partBytes = 64 << 20,
    readonly signal?: AbortSignal,
    private readonly pace = leastPace,
  ) {
    const endpoint = given ?? (process.env['AWS_ENDPOINT_URL_S3'] || process.env['AWS_ENDPOINT_URL'] || undefined);
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
      // Many stores refuse the SDK's checksums, but all verify an MD5.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      // Repetition is decided here.
      maxAttempts: 1,
      requestHandler: { connectionTimeout: 10_000, socketTimeout: 60_000 },
      // Otherwise it writes warnings to stderr.
      logger: { debug: ignore, info: ignore, warn: ignore, error: ignore },
    });
  }

  read(key: string) {
    return this.#found('read', key, async (how) => {
      const { Body, ETag } = await this.#client.send(new this.#sdk.GetObjectCommand(this.#at(key)), how);
      return { bytes: await buffer(counted(Body, how)), version: ETag || this.#missingVersion };
    });
  }

  find(key: string) {
    return this.#found('find', key, async (how) => {
      const { ContentLength = 0, ETag, Metadata } = await this.#client.send(new this.#sdk.HeadObjectCommand(this.#at(key)), how);
      return { bytes: ContentLength, version: ETag || this.#missingVersion, sha256: Metadata?.['sha256'] };
    });
  }

  create(key: string, body: ObjectBody): Promise<string> {
    return this.#put('create', key, body, { IfNoneMatch: '*' }, 1);
  }

  async replace(key: string, body: ObjectBody, version: string): Promise<string> {
    // The SDK would send an empty condition, which some stores ignore.
    if (version === '') throw unversioned(`${this.root}/${key}`);
    return this.#put('replace', key, body, version === this.#missingVersion ? {} : { IfMatch: version }, 1);
  }

  async put(key: string, body: string): Promise<void> {
    await this.#put('write', key, body, {});
  }

  async upload(key: string, file: FinishedFile): Promise<void> {
    try {
      if (file.bytes > this.partBytes) await this.#uploadParts(key, file);
      else await this.#put('upload', key, file, { IfNoneMatch: '*' });
    } catch (failure) {
      const found = this.signal?.aborted ? undefined : await this.find(key);
      if (found?.sha256 !== file.sha256 || found.bytes !== file.bytes) throw failure;
    }
  }

  async download(key: string, path: string): Promise<void> {
    await this.#sent('download', key, async (how) => {
      const { Body } = await this.#client.send(new this.#sdk.GetObjectCommand(this.#at(key)), how);
      await pipeline(counted(Body, how), createWriteStream(path, { mode: 0o600 }));
    });
  }

  async *list(prefix: string): AsyncIterable<ObjectEntry> {
    let next: string | undefined;
    do {
      const command = new this.#sdk.ListObjectsV2Command({ ...this.#below(prefix), ContinuationToken: next });
      const { Contents = [], EncodingType, ...found } = await this.#sent('list', prefix, (how) => this.#client.send(command, how));
      for (const { Key, Size = 0 } of Contents) yield { key: this.#keyOf(Key, EncodingType), bytes: Size };
      next = found.NextContinuationToken;
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
    const request: SDK.ListMultipartUploadsCommandInput = this.#below(prefix);
    let isPart: boolean | undefined;
    do {
      const command = new this.#sdk.ListMultipartUploadsCommand({ ...request });
      const found = await this.#sent('list uploads in', prefix, (how) => this.#client.send(command, how));
      for (const { Key, UploadId } of found.Uploads ?? []) await this.#abort(this.#keyOf(Key, found.EncodingType), UploadId);
      request.KeyMarker = decoded(found.NextKeyMarker, found.EncodingType);
      request.UploadIdMarker = found.NextUploadIdMarker;
      isPart = found.IsTruncated;
    } while (isPart);
  }

  async #abort(key: string, UploadId: string | undefined): Promise<void> {
    const command = new this.#sdk.AbortMultipartUploadCommand({ ...this.#at(key), UploadId });
    await this.#found('abort the upload of', key, (how) => this.#client.send(command, how));
  }

  /** One request, for any size. */
  async #put(what: string, key: string, body: ObjectBody, condition: Content, attempts?: number): Promise<string> {
    const Metadata = { sha256: await sha256Of(body) };
    const to = isFile(body) ? body.bytes : Buffer.byteLength(body);
    const put = (content: Content) => new this.#sdk.PutObjectCommand({ ...this.#at(key), ...content, ...condition, Metadata });
    const request = (how: How) => withBytes(body, 0, to, how, (content) => this.#client.send(put(content), how));
    return (await this.#sent(what, key, request, attempts)).ETag || this.#missingVersion;
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
          withBytes(file, from, to, how, (content) =>
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
      // A lost first reply means that one was begun twice.
      await this.abortUploads(key).catch(ignore);
    }
  }

  #at(key: string) {
    return { Bucket: this.#bucket, Key: this.#base + key };
  }

  /** Keys may have letters that XML cannot hold. */
  #below(prefix: string) {
    return { Bucket: this.#bucket, Prefix: this.#base + prefix, EncodingType: 'url' } as const;
  }

  #keyOf(key: string | undefined, encoding: SDK.EncodingType | undefined): string {
    return decoded(key, encoding).slice(this.#base.length);
  }

  /** As `#sent`, for an object that may be missing. */
  #found<T>(what: string, key: string, request: (how: How) => Promise<T>): Promise<T | undefined> {
    return this.#sent(what, key, (how) =>
      request(how).catch((thrown: unknown) => {
        const { name, status } = s3FaultOf(thrown);
        if (status !== 404 || name === 'NoSuchBucket') throw thrown;
        return undefined;
      }),
    );
  }

  /** Repeats a request after a passing failure, waiting with full jitter. */
  async #sent<T>(what: string, key: string, request: (how: How) => Promise<T>, attempts = maxAttempts): Promise<T> {
    try {
      const attempt = (stop?: AbortSignal) => paced(request, this.pace, stop);
      return await (transfers.has(what) ? attempt(this.signal) : soonAfter(this.signal, attempt));
    } catch (thrown) {
      const { passing, name } = s3FaultOf(thrown);
      if (passing && this.signal?.aborted) throw stoppedBy(this.signal, `the run was stopped; it could not ${what} ${this.root}/${key}`);
      if (attempts === 1 || !passing) throw s3Failure(thrown, what, `${this.root}/${key}`);
      // A store that asks for fewer requests gets them.
      const mostMs = (name === 'SlowDown' ? 2_000 : 200) * 2 ** (maxAttempts - attempts);
      await wait(Math.random() * mostMs, undefined, { signal: this.signal }).catch(ignore);
    }
    return this.#sent(what, key, request, attempts - 1);
  }
}

/** Not every store encodes keys, but those that do say so. */
function decoded(key = '', encoding?: SDK.EncodingType): string {
  return encoding === 'url' ? decodeURIComponent(key.replaceAll('+', ' ')) : key;
}

/** What a stopped run cuts at once; other requests decide or clean up, and end soon. */
const transfers: ReadonlySet<string> = new Set(['upload', 'download']);

/** What an attempt has to transfer in each time, unless it ends. */
const leastPace = { bytes: 1 << 20, ms: 120_000 };

interface How {
  readonly abortSignal: AbortSignal;
  moved: number;
}

/** Makes an attempt, which is cut if it transfers too little, even if something arrives now and then. */
async function paced<T>(
  request: (how: How) => Promise<T>,
  { bytes, ms }: typeof leastPace,
  stop = new AbortController().signal,
): Promise<T> {
  const slow = new AbortController();
  const how: How = { abortSignal: AbortSignal.any([stop, slow.signal]), moved: 0 };
  let before = 0;
  const timer = setInterval(() => {
    if (how.moved - before < bytes) slow.abort(new DOMException('too slow', 'TimeoutError'));
    before = how.moved;
  }, ms);
  try {
    return await request(how);
  } catch (thrown) {
    throw slow.signal.aborted ? slow.signal.reason : thrown;
  } finally {
    clearInterval(timer);
  }
}

type Content = Pick<SDK.PutObjectCommandInput, 'Body' | 'ContentLength' | 'ContentMD5' | 'IfMatch' | 'IfNoneMatch'>;

async function* counted(stream: unknown, how: How): AsyncGenerator<Buffer> {
  if (!(stream instanceof Readable)) return;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    how.moved += chunk.length;
    yield chunk;
  }
}

async function withBytes<T>(body: ObjectBody, from: number, to: number, how: How, send: (content: Content) => Promise<T>): Promise<T> {
  const md5 = createHash('md5');
  const read = bytesOf(body, from, to, how);
  for await (const chunk of read instanceof Readable ? read : [read]) md5.update(chunk as Buffer | string);
  const Body = bytesOf(body, from, to, how);
  try {
    return await send({ Body, ContentLength: to - from, ContentMD5: md5.digest('base64') });
  } finally {
    if (Body instanceof Readable) await finished(Body.destroy()).catch(ignore);
  }
}

function bytesOf(body: ObjectBody, from: number, to: number, how: How): string | Buffer | Readable {
  if (!isFile(body)) return body;
  if (from === to) return '';
  return Readable.from(counted(createReadStream(body.path, { start: from, end: to - 1 }), how), { objectMode: false });
}

const maxAttempts = 8;

function ignore(): void {}
