/**
 * ts-proto's decoders stop silently at an invalid tag, read past the end of a nested message into
 * what follows it, and replace invalid UTF-8. Other implementations refuse such input.
 */
const STRICT_DECODING = [
  {
    from: /if \(\(tag & 7\) === 4 \|\| tag === 0\) \{\s+break;\s+\}/g,
    to: `if ((tag & 7) === 4 || tag >>> 3 === 0) {
          throw new globalThis.Error("protobuf decode found an invalid tag");
        }`,
  },
  {
    from: /return message;(?=\s+\} finally \{)/g,
    to: `if (reader.pos !== end) {
        throw new globalThis.Error("protobuf decode read past the end of a message");
      }
      return message;`,
  },
];

/** Makes the decoders of a file refuse malformed input. */
export function decodeStrictly(name: string, source: string): string {
  const decoders = source.split("const end = length === undefined").length - 1;
  let result = source;
  for (const { from, to } of STRICT_DECODING) {
    const found = source.match(from)?.length ?? 0;
    if (found !== decoders) {
      throw new Error(`${name}: ${decoders} decoders, but ${found} times ${from.source}`);
    }
    result = result.replace(from, to);
  }
  return result.replaceAll("reader.string()", "reader.string(true)");
}

/** The type of the values of every map in a file, by the name of the entry type. */
function mapValueTypes(source: string): Map<string, string> {
  const entries = source.matchAll(
    /^export interface (?<entry>\w+Entry) \{\s+key: \w+;\s+value:\s+\|?\s*(?<type>\w+)/gm,
  );
  return new Map(
    [...entries].map(({ groups }) => [groups?.entry ?? "", groups?.type ?? ""] as const),
  );
}

/** A map entry whose value is absent has the default value; ts-proto drops it if it is a message. */
export function keepEmptyMapValues(name: string, source: string): string {
  const types = mapValueTypes(source);
  const result = source.replace(
    /const (entry\d+) = (\w+)\.decode\(reader, reader\.uint32\(\)\);\s+if \(\1\.value !== undefined\) \{\s+(.*\.set)\(\1\.key, \1\.value\);\s+\}/g,
    (_, entry: string, entryType: string, set: string) => {
      const type = types.get(entryType);
      if (type === undefined) throw new Error(`${name}: no interface ${entryType}`);
      const isMessage = /^[A-Z]/.test(type) && type !== "Uint8Array";
      return `const ${entry} = ${entryType}.decode(reader, reader.uint32());
            ${set}(${entry}.key, ${entry}.value${isMessage ? ` ?? ${type}.create()` : ""});`;
    },
  );
  if (/entry\d+\.value !== undefined/.test(result)) {
    throw new Error(`${name}: cannot give map values their defaults`);
  }
  return result;
}

/** One empty array serves all messages, instead of one for each `bytes` field of each message. */
export function shareEmptyBytes(source: string): string {
  const result = source.replaceAll("new Uint8Array(0)", "emptyBytes");
  return result === source ? source : `${result}\nconst emptyBytes = new Uint8Array(0);\n`;
}
