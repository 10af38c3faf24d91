import { parquetMetadata, type ColumnChunk, type FileMetaData, type RowGroup, type SchemaElement } from 'hyparquet';
import { ByteWriter } from 'hyparquet-writer';
import { writeMetadata } from 'hyparquet-writer/src/metadata.js';
import { itemAt, limitReached, SinkError, version, type OutputColumn } from '../../core/index.js';
import { defaultThreads, Thread, threadFile, warnOfNoThread } from '../../threads/index.js';
import { metadataOf, storages, type Compression, type Encoding, type ParquetEngine } from '../engine.js';
import type { EncodedGroup, EncodeRequest } from './arrow/encoding-worker.js';
import { rowGroup, type ReusedBytes } from './arrow/rows.js';

/**
 * parquet-wasm (arrow-rs): dictionaries, statistics in byte order, V1 data pages that every reader supports, exact 64-bit values, zstd at
 * level 1. Rows become column bytes as they arrive (0.5 µs each with 33 columns). A row group becomes an Arrow stream and then a complete
 * Parquet file in memory (4 µs per row), whose pages are appended to the target. The library's memory grows to the need of the largest row
 * group, until the thread ends.
 * @param threads 1 encodes in a thread shared by all tables of the process. The bytes are the same.
 */
export function arrowEngine(threads?: number): ParquetEngine<ReusedBytes> {
  const encoding = groupEncoding(threads);
  return {
    rowGroup: (columns, plan) => {
      encoding.start();
      return rowGroup(columns, plan);
    },

    async open(target, columns, how) {
      const groups: RowGroup[] = [];
      let written = 0;
      const append = async (bytes: Uint8Array) => {
        await target.append(bytes);
        written += bytes.length;
      };
      await append(magic);
      return {
        async writeGroup(group) {
          const slice = sliceOf(await encoding.encode(group, how.compression), written, columns);
          await append(slice.bytes);
          groups.push(slice.group);
        },
        finish: () => append(footer(columns, groups, how)),
      };
    },

    close: () => encoding.close(),
  };
}

/** Extracts the only row group of a file, which begins after the magic. @param at Offset of its bytes in the target file. */
function sliceOf(file: Uint8Array, at: number, columns: readonly OutputColumn[]): { readonly bytes: Uint8Array; readonly group: RowGroup } {
  const [group] = parquetMetadata(file, { parsers: asWritten, geoparquet: false }).row_groups;
  if (!group) throw new SinkError('E_SINK_WRITE', 'the engine arrow returned no row group');
  const shift = BigInt(at - magic.length);
  const length = group.columns.reduce((sum, { meta_data: data }) => sum + Number(data?.total_compressed_size ?? 0), 0);
  return {
    bytes: file.subarray(magic.length, magic.length + length),
    group: {
      columns: group.columns.map((column, index) => moved(column, shift, itemAt(columns, index))),
      total_byte_size: group.total_byte_size,
      total_compressed_size: BigInt(length),
      file_offset: BigInt(at),
      num_rows: group.num_rows,
    },
  };
}

/** Keeps statistics byte for byte. Texts are copied, because a view would keep the whole file in memory. */
const asWritten = {
  stringFromBytes: (bytes: Uint8Array) => Uint8Array.from(bytes),
  timestampFromMicroseconds: (micros: bigint) => micros,
  dateFromDays: (days: number) => days,
};

/** Drops page indexes, which are elsewhere and contain offsets. */
function moved({ file_offset: fileOffset, meta_data: data }: ColumnChunk, shift: bigint, { name }: OutputColumn): ColumnChunk {
  if (!data) return { file_offset: fileOffset };
  const { data_page_offset: first, dictionary_page_offset: dictionary, size_statistics: _, ...kept } = data;
  const places = { data_page_offset: first + shift, ...(dictionary === undefined ? {} : { dictionary_page_offset: dictionary + shift }) };
  // The library drops a byte order mark at the start of a name.
  return { file_offset: 0n, meta_data: { ...kept, ...places, path_in_schema: [name] } };
}

const magic = Uint8Array.of(0x50, 0x41, 0x52, 0x31);

function footer(columns: readonly OutputColumn[], groups: readonly RowGroup[], encoding: Encoding): Uint8Array {
  const sorting = encoding.sortedBy.map(({ column, descending }) => {
    return { column_idx: columns.findIndex(({ name }) => name === column), descending, nulls_first: false };
  });
  // Only ids that a table format assigned: readers that find ids match columns by them alone.
  const elements = columns.map(({ name, type }): SchemaElement => {
    const id = encoding.fieldIds?.get(name);
    return { name, repetition_type: 'OPTIONAL', ...storages[type], ...(id !== undefined && { field_id: id }) };
  });
  const file = {
    version: 1,
    // In the format that parquet-mr parses: it ignores the statistics of applications that it cannot parse.
    created_by: `leadstream version ${version}`,
    metadata_length: 0,
    schema: [{ name: 'root', num_children: columns.length }, ...elements],
    num_rows: groups.reduce((sum, group) => sum + group.num_rows, 0n),
    row_groups: groups.map((group) => (sorting.length > 0 ? { ...group, sorting_columns: sorting } : group)),
    key_value_metadata: metadataOf(columns, encoding).map(([key, value]) => ({ key, value })),
  };
  return groups.length === 0 ? withoutGroups(file) : bytesOf(file);
}

function bytesOf(file: FileMetaData): Uint8Array {
  const writer = new ByteWriter();
  // The statistics are already truncated and marked as such.
  writeMetadata(writer, file, Infinity);
  writer.appendBytes(magic);
  return writer.getBytes();
}

/** Header of an empty list of structs in Thrift's compact protocol: length 0, element type 12. */
const emptyStructs = 0x0c;

/**
 * hyparquet-writer gives an empty list element type 0, which is not a type, so that arrow-rs (DataFusion, daft) refuses the file. The
 * header of the list of row groups is the first byte that differs from the same metadata with a row group.
 */
function withoutGroups(file: FileMetaData): Uint8Array {
  const bytes = bytesOf(file);
  const longer = bytesOf({ ...file, row_groups: [{ columns: [], total_byte_size: 0n, num_rows: 0n }] });
  const head = bytes.findIndex((byte, index) => byte !== longer[index]);
  const isEmptyList = bytes[head] !== undefined && bytes[head] >> 4 === 0;
  if (!isEmptyList) throw new SinkError('E_SINK_WRITE', 'the footer of a file without rows has no list of row groups');
  bytes[head] = emptyStructs;
  return bytes;
}

interface GroupEncoding {
  /** Makes the thread load what it needs while the first row group fills. */
  start(): void;
  /** Encodes a row group as a Parquet file. A thread gets the group's buffer, and returns it before this resolves. */
  encode(group: ReusedBytes, compression: Compression): Promise<Uint8Array>;
  /** Ends the thread, unless others use it; pending requests then fail. May be called more than once. */
  close(): Promise<void>;
}

const workerFile = threadFile(() => new URL('./encoding-worker.cjs', import.meta.url));

/** @param threads 1 for the thread. If none can start, the process emits a warning and row groups are encoded here. */
function groupEncoding(threads: number = defaultThreads(workerFile)): GroupEncoding {
  if (threads === 0) return inThisThread;
  if (workerFile !== undefined) return inSharedThread(workerFile);
  warnOfNoThread('encoding-worker.cjs');
  return inThisThread;
}

const inThisThread: GroupEncoding = {
  start: () => undefined,
  encode: async (group, compression) => {
    // 5 MB of WebAssembly, which the thread loads otherwise.
    const { encodeGroup } = await import('./arrow/encode.js');
    try {
      return encodeGroup(group, compression);
    } catch (thrown) {
      throw limitReached(thrown) ?? refused();
    }
  },
  close: async () => undefined,
};

/** The thread that encodes all row groups of the process, in order of arrival. It starts with its first user and ends with the last. */
let shared: { readonly thread: Thread<EncodedGroup>; leases: number } | undefined;

function inSharedThread(file: URL): GroupEncoding {
  let lease: typeof shared;
  const thread = (): Thread<EncodedGroup> => {
    if (lease !== undefined) return lease.thread;
    if (shared === undefined || shared.thread.ended) shared = { thread: new Thread(file, 'leadstream-parquet'), leases: 0 };
    shared.leases += 1;
    lease = shared;
    return lease.thread;
  };
  return {
    start: () => void thread(),
    encode: (group, compression) =>
      new Promise((resolve, reject) => {
        const { stream, plain } = group;
        const asking = {
          answered: ({ buffer, file: encoded }: EncodedGroup) => {
            group.takeBack(buffer);
            if (encoded) resolve(encoded);
            else reject(refused());
          },
          lost: (reason: string, cause: unknown) =>
            reject(limitReached(cause) ?? new SinkError('E_SINK_WRITE', `the thread that encodes Parquet ended: ${reason}`)),
        };
        thread().send(asking, (id): EncodeRequest => ({ id, group: { stream, plain }, compression }), [stream.buffer]);
      }),
    async close() {
      const ended = lease;
      lease = undefined;
      if (ended === undefined) return;
      ended.leases -= 1;
      if (ended.leases > 0) return;
      if (shared === ended) shared = undefined;
      await ended.thread.end();
    },
  };
}

function refused(): SinkError {
  return new SinkError('E_SINK_WRITE', 'the engine arrow could not encode a row group');
}
