import { crc32, deflateRawSync } from "node:zlib";

/** An entry of an archive that may lie about anything. What is left out is as it should be. */
export interface RawEntry {
  readonly name: string | Uint8Array;
  readonly content?: Uint8Array | string;
  /** @default deflate */
  readonly stored?: boolean;
  /** The data as packed, in place of what the content gives. */
  readonly data?: Uint8Array;
  readonly flags?: number;
  readonly method?: number;
  readonly crc?: number;
  readonly size?: number;
  readonly packedSize?: number;
  /** @default 3, Unix */
  readonly host?: number;
  readonly mode?: number;
  readonly localName?: string | Uint8Array;
  readonly localMethod?: number;
  readonly localCrc?: number;
  readonly localSignature?: number;
  readonly offset?: number;
  readonly extra?: Uint8Array;
  readonly localExtra?: Uint8Array;
  readonly comment?: string;
}

/** What stands around the entries. */
export interface RawEnd {
  readonly entries?: number;
  readonly size?: number;
  readonly offset?: number;
  readonly disk?: number;
  readonly comment?: string | Uint8Array;
  /** In front of everything, with offsets that count it. */
  readonly front?: Uint8Array;
  /** Between directory and end record. */
  readonly middle?: Uint8Array;
  /** Behind everything. */
  readonly behind?: Uint8Array;
  /** Adds the 64-bit end record and its locator. */
  readonly zip64?: boolean;
}

function fields(...all: readonly (readonly [bytes: 2 | 4 | 8, value: number])[]): Buffer {
  return Buffer.concat(
    all.map(([bytes, value]) => {
      const field = Buffer.alloc(bytes);
      if (bytes === 8) field.writeBigUInt64LE(BigInt(value));
      else field.writeUIntLE(value, 0, bytes);
      return field;
    }),
  );
}

/** Writes an archive as it is told, for readers to be tried with. */
export function rawZip(entries: readonly RawEntry[], end: RawEnd = {}): Buffer {
  const parts: Uint8Array[] = [end.front ?? Buffer.alloc(0)];
  const central: Uint8Array[] = [];
  let at = parts[0]?.length ?? 0;
  const push = (part: Uint8Array) => {
    parts.push(part);
    at += part.length;
  };
  for (const entry of entries) {
    const name = Buffer.from(entry.name);
    const content = Buffer.from(entry.content ?? "");
    const data = entry.data ?? (entry.stored === true ? content : deflateRawSync(content));
    const method = entry.method ?? (entry.stored === true ? 0 : 8);
    const crc = entry.crc ?? crc32(content);
    const size = entry.size ?? content.length;
    const packedSize = entry.packedSize ?? data.length;
    const flags = entry.flags ?? 0x0800;
    const localName = Buffer.from(entry.localName ?? name);
    const localExtra = entry.localExtra ?? Buffer.alloc(0);
    const extra = entry.extra ?? Buffer.alloc(0);
    const comment = Buffer.from(entry.comment ?? "");
    const offset = entry.offset ?? at;
    push(
      fields(
        [4, entry.localSignature ?? 0x04034b50],
        ...([
          [2, 20],
          [2, flags],
          [2, entry.localMethod ?? method],
          [2, 0],
          [2, 33],
        ] as const),
        ...([
          [4, entry.localCrc ?? crc],
          [4, packedSize],
          [4, size],
        ] as const),
        ...([
          [2, localName.length],
          [2, localExtra.length],
        ] as const),
      ),
    );
    push(Buffer.concat([localName, localExtra, data]));
    central.push(
      fields(
        ...([
          [4, 0x02014b50],
          [2, ((entry.host ?? 3) << 8) | 20],
          [2, 20],
          [2, flags],
        ] as const),
        ...([
          [2, method],
          [2, 0],
          [2, 33],
          [4, crc],
          [4, packedSize],
          [4, size],
        ] as const),
        ...([
          [2, name.length],
          [2, extra.length],
          [2, comment.length],
          [2, 0],
          [2, 0],
        ] as const),
        [4, (entry.mode ?? 0o100644) * 0x10000],
        [4, offset],
      ),
      name,
      extra,
      comment,
    );
  }
  const directory = Buffer.concat(central);
  const directoryOffset = at;
  push(directory);
  push(end.middle ?? Buffer.alloc(0));
  if (end.zip64 === true) {
    const recordOffset = at;
    push(
      fields(
        ...([
          [4, 0x06064b50],
          [8, 44],
          [2, 45],
          [2, 45],
          [4, 0],
          [4, 0],
        ] as const),
        ...([
          [8, entries.length],
          [8, entries.length],
          [8, directory.length],
        ] as const),
        [8, directoryOffset],
      ),
    );
    push(fields([4, 0x07064b50], [4, 0], [8, recordOffset], [4, 1]));
  }
  const comment = Buffer.from(end.comment ?? "");
  const count = end.entries ?? entries.length;
  push(
    fields(
      ...([
        [4, 0x06054b50],
        [2, end.disk ?? 0],
        [2, end.disk ?? 0],
        [2, count],
        [2, count],
      ] as const),
      ...([
        [4, end.size ?? directory.length],
        [4, end.offset ?? directoryOffset],
      ] as const),
      [2, comment.length],
    ),
  );
  push(comment);
  push(end.behind ?? Buffer.alloc(0));
  return Buffer.concat(parts);
}
