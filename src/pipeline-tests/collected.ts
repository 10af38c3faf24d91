import { Writable } from 'node:stream';

/** A stream that keeps what is written to it. */
export class Collected extends Writable {
  readonly #pieces: Buffer[] = [];

  get text(): string {
    return Buffer.concat(this.#pieces).toString('utf8');
  }

  override _write(piece: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#pieces.push(piece);
    done();
  }
}
