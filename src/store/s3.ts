import { createHash, type Hash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as wait } from 'node:timers/promises';
import type * as SDK from '@aws-sdk/client-s3';
import { type LeadstreamError, nodeRequire, SinkError } from '../core/index.js';
import { removeFile } from './files.js';
import type { FinishedFile, ObjectBody, ObjectEntry, ObjectStore, ObjectSummary, StoredObject } from './objects.js';
import { faultOf, s3Failure } from './s3-failure.js';

/** Where a bucket is. What is absent comes from the SDK's environment, as credentials always do. */
export interface S3Settings {
  readonly region?: string | undefined;
  readonly endpoint?: string | undefined;
  /** Whether URLs have the bucket in the path rather than in the name of the host. Default: whether there is an endpoint, here or in the environment. */
  readonly path_style?: boolean | undefined;
}

/** Numbers that tests change. */
export interface S3Limits {
  /** A larger file is uploaded in parts of this size. */
  readonly partBytes: number;
  /** Attempts at a request that may be repeated. */
  readonly attempts: number;
}

/**
 * Objects below a prefix of a bucket, by `@aws-sdk/client-s3`.
 *
 * @param place `s3://bucket/prefix`.
 * @throws {SinkError} `E_SINK_CONFIG` if the place has no bucket, or the package is not installed.
 */
export function s3Objects(place: string, settings: S3Settings = {}, limits: Partial<S3Limits> = {}): ObjectStore {
  const [, bucket, prefix = ''] = /^s3:\/\/([^/]+)(?:\/(.*?))?\/*$/.exec(place) ?? [];
  if (bucket === undefined) throw new SinkError('E_SINK_CONFIG', `${place} names no bucket; write s3://bucket/prefix`);
  return new S3Objects(bucket, prefix, settings, { partBytes: 64 << 20, attempts: 8, ...limits });
}

const s3Package = '@aws-sdk/client-s3';

function loaded(): typeof SDK {
  process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] ??= 'true';
  try {
    return nodeRequire()(s3Package) as typeof SDK;
  } catch {
    throw new SinkError('E_SINK_CONFIG', `s3:// needs ${s3Package}, which is not installed: npm install ${s3Package}`);
  }
}

/** What makes a write conditional. */
interface Condition {
  readonly IfNoneMatch?: '*';
  readonly IfMatch?: string;
}

class S3Objects implements ObjectStore {
  readonly root: string;
  readonly #sdk = loaded();
  readonly #client: SDK.S3Client;
  /** What keys of the bucket begin with. */
  readonly #base: string;
  /** Stores other than S3 itself refuse the SDK's checksums. */
  readonly #custom: boolean;

  constructor(
    private readonly bucket: string,
    prefix: string,
    { region, endpoint = process.env['AWS_ENDPOINT_URL_S3'] ?? process.env['AWS_ENDPOINT_URL'], path_style }: S3Settings,
    private readonly limits: S3Limits,
  ) {
    this.#base = prefix === '' ? '' : `${prefix}/`;
    this.root = `s3://${bucket}/${prefix}`.replace(/\/$/, '');
    this.#custom = endpoint !== undefined;
    const checksums = this.#custom ? 'WHEN_REQUIRED' : 'WHEN_SUPPORTED';
    this.#client = new this.#sdk.S3Client({
      ...(region === undefined ? {} : { region }),
      ...(endpoint === undefined ? {} : { endpoint }),
      forcePathStyle: path_style ?? this.#custom,
      requestChecksumCalculation: checksums,
      responseChecksumValidation: checksums,
      // Repeating is decided here, by what a request does.
      maxAttempts: 1,
      // By default it writes warnings to stderr.
      logger: { debug: ignore, info: ignore, warn: ignore, error: ignore },
      requestHandler: { connectionTimeout: 10_000, socketTimeout: 60_000 },
    });
  }

  async read(key: string): Promise<StoredObject | undefined> {
    return this.#found('read', key, async () => {
      const { Body, ETag } = await this.#client.send(new this.#sdk.GetObjectCommand(this.#at(key)));
      const bytes = Body === undefined ? Buffer.alloc(0) : Buffer.from(await Body.transformToByteArray());
      return { bytes, version: versionOf(ETag) };
    });
  }

  async find(key: string): Promise<ObjectSummary | undefined> {
    return this.#found('find', key, async () => {
      const { ContentLength = 0, ETag, Metadata } = await this.#client.send(new this.#sdk.HeadObjectCommand(this.#at(key)));
      return { bytes: ContentLength, version: versionOf(ETag), sha256: Metadata?.['sha256'] };
    });
  }

  create(key: string, body: ObjectBody): Promise<string> {
    return this.#once('create', key, () => this.#put(key, body, { IfNoneMatch: '*' }));
  }

  replace(key: string, body: ObjectBody, version: string): Promise<string> {
    return this.#once('replace', key, () => this.#put(key, body, { IfMatch: version }));
  }

  async put(key: string, body: string): Promise<void> {
    await this.#repeated('write', key, () => this.#put(key, body, {}));
  }

  async upload(key: string, file: FinishedFile): Promise<void> {
    try {
      if (file.bytes <= this.limits.partBytes) await this.#repeated('create', key, () => this.#put(key, file, { IfNoneMatch: '*' }));
      else await this.#uploadParts(key, file);
    } catch (failure) {
      const found = await this.find(key);
      if (found?.sha256 !== file.sha256 || found.bytes !== file.bytes) throw failure;
    }
  }

  async download(key: string, path: string): Promise<void> {
    await this.#repeated('read', key, async () => {
      const { Body } = await this.#client.send(new this.#sdk.GetObjectCommand(this.#at(key)));
      const target = createWriteStream(path, { flags: 'wx', mode: 0o600 });
      await pipeline(Body instanceof Readable ? Body : Readable.from([]), target).catch(async (thrown: unknown) => {
        if (target.bytesWritten > 0) await removeFile(path);
        throw thrown;
      });
    });
  }

  async *list(prefix: string): AsyncIterable<ObjectEntry> {
    let next: string | undefined;
    do {
      const asked = { Bucket: this.bucket, Prefix: this.#base + prefix, ContinuationToken: next };
      const page = await this.#repeated('list', prefix, () => this.#client.send(new this.#sdk.ListObjectsV2Command(asked)));
      for (const { Key = '', Size = 0, LastModified = new Date() } of page.Contents ?? [])
        yield { key: Key.slice(this.#base.length), bytes: Size, modifiedAt: LastModified };
      next = page.IsTruncated === true ? page.NextContinuationToken : undefined;
    } while (next !== undefined);
  }

  async remove(keys: readonly string[]): Promise<void> {
    // One by one, since not every store has the request for many.
    const remaining = [...keys];
    const removing = async () => {
      for (let key = remaining.pop(); key !== undefined; key = remaining.pop()) {
        const at = this.#at(key);
        await this.#repeated('remove', key, () => this.#client.send(new this.#sdk.DeleteObjectCommand(at)));
      }
    };
    await Promise.all(Array.from({ length: 8 }, removing));
  }

  async abortUploads(prefix: string): Promise<void> {
    let next: Pick<SDK.ListMultipartUploadsCommandInput, 'KeyMarker' | 'UploadIdMarker'> | undefined = {};
    while (next !== undefined) {
      const asked: SDK.ListMultipartUploadsCommandInput = { Bucket: this.bucket, Prefix: this.#base + prefix, ...next };
      const page: SDK.ListMultipartUploadsCommandOutput = await this.#repeated('list uploads below', prefix, () =>
        this.#client.send(new this.#sdk.ListMultipartUploadsCommand(asked)),
      );
      for (const { Key = '', UploadId } of page.Uploads ?? []) await this.#abort(Key.slice(this.#base.length), UploadId);
      next = page.IsTruncated === true ? { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker } : undefined;
    }
  }

  async #abort(key: string, UploadId: string | undefined): Promise<void> {
    const at = { ...this.#at(key), UploadId };
    await this.#found('abort the upload of', key, () => this.#client.send(new this.#sdk.AbortMultipartUploadCommand(at)));
  }

  /** One request, never in parts. */
  async #put(key: string, body: ObjectBody, condition: Condition): Promise<string> {
    const hash = createHash('sha256');
    const size = typeof body === 'string' ? Buffer.byteLength(body) : body.bytes;
    const md5 = await digest(body, 0, size, hash);
    const sha256 = hash.digest('hex');
    if (typeof body !== 'string') refuseChanged(body, sha256);
    const input = { ...this.#at(key), ...this.#checked(md5), Metadata: { sha256 }, ...condition };
    const { ETag } = await streaming(body, 0, size, (content) =>
      this.#client.send(new this.#sdk.PutObjectCommand({ ...input, ...content })),
    );
    return versionOf(ETag);
  }

  async #uploadParts(key: string, file: FinishedFile): Promise<void> {
    const at = this.#at(key);
    const begin = new this.#sdk.CreateMultipartUploadCommand({ ...at, Metadata: { sha256: file.sha256 } });
    const { UploadId } = await this.#repeated('upload', key, () => this.#client.send(begin));
    try {
      const hash = createHash('sha256');
      const Parts: SDK.CompletedPart[] = [];
      for (let from = 0; from < file.bytes; from += this.limits.partBytes) {
        const to = Math.min(file.bytes, from + this.limits.partBytes);
        const input = { ...at, UploadId, PartNumber: Parts.length + 1, ...this.#checked(await digest(file, from, to, hash)) };
        const { ETag } = await this.#repeated('upload', key, () =>
          streaming(file, from, to, (content) => this.#client.send(new this.#sdk.UploadPartCommand({ ...input, ...content }))),
        );
        Parts.push({ PartNumber: input.PartNumber, ETag });
      }
      refuseChanged(file, hash.digest('hex'));
      const end = new this.#sdk.CompleteMultipartUploadCommand({ ...at, UploadId, IfNoneMatch: '*', MultipartUpload: { Parts } });
      await this.#repeated('create', key, () => this.#client.send(end));
    } catch (failure) {
      await this.#abort(key, UploadId).catch(() => undefined);
      throw failure;
    }
  }

  #at(key: string) {
    return { Bucket: this.bucket, Key: this.#base + key };
  }

  #checked(md5: string) {
    return this.#custom ? { ContentMD5: md5 } : {};
  }

  /** As `#repeated`, for an object that may be missing. */
  #found<T>(what: string, key: string, work: () => Promise<T>): Promise<T | undefined> {
    return this.#repeated(what, key, () =>
      work().catch((thrown: unknown) => {
        const { name, status } = faultOf(thrown);
        if (status !== 404 || name === 'NoSuchBucket') throw thrown;
        return undefined;
      }),
    );
  }

  /** Repeats a request that failed for a moment, with full jitter. */
  async #repeated<T>(what: string, key: string, work: () => Promise<T>, attempts = 1): Promise<T> {
    try {
      return await work();
    } catch (thrown) {
      if (attempts === this.limits.attempts || !faultOf(thrown).passing) throw this.#failure(what, key, thrown);
    }
    await wait(Math.random() * Math.min(15_000, 200 * 2 ** attempts));
    return this.#repeated(what, key, work, attempts + 1);
  }

  async #once<T>(what: string, key: string, work: () => Promise<T>): Promise<T> {
    return work().catch((thrown: unknown) => {
      throw this.#failure(what, key, thrown);
    });
  }

  #failure(what: string, key: string, thrown: unknown): LeadstreamError {
    return s3Failure(thrown, what, `${this.root}/${key}`);
  }
}

function ignore(): void {}

function versionOf(etag: string | undefined): string {
  if (etag !== undefined) return etag;
  throw new SinkError('E_SINK_PATH', 'the store returns no ETag, by which the versions of an object are told apart');
}

function refuseChanged(file: FinishedFile, sha256: string): void {
  if (sha256 !== file.sha256) throw new SinkError('E_SINK_VERIFY', `${file.path} has changed since it was checked`);
}

/** Reads a part of a body, adds it to the digest of the whole, and returns its MD5 in Base64. */
async function digest(body: ObjectBody, from: number, to: number, whole: Hash): Promise<string> {
  const md5 = createHash('md5');
  for await (const chunk of typeof body === 'string' ? [Buffer.from(body)] : bytesOf(body, from, to)) {
    const bytes = chunk as Buffer;
    md5.update(bytes);
    whole.update(bytes);
  }
  return md5.digest('base64');
}

/** Sends a part of a body, and closes its file whatever happens. */
async function streaming<T>(
  body: ObjectBody,
  from: number,
  to: number,
  send: (content: { readonly Body: string | Readable; readonly ContentLength: number }) => Promise<T>,
): Promise<T> {
  const Body = typeof body === 'string' ? body : bytesOf(body, from, to);
  try {
    return await send({ Body, ContentLength: to - from });
  } finally {
    if (typeof Body !== 'string') Body.destroy();
  }
}

/** A stream has no empty range. */
function bytesOf({ path }: FinishedFile, from: number, to: number): Readable {
  return to === from ? Readable.from([]) : createReadStream(path, { start: from, end: to - 1 });
}
