import { decode, encode } from "@msgpack/msgpack";
import { decodeMsgpack, encodeMsgpack } from "@stackwright/cty";
import { latencies, printLatencies } from "@stackwright-bench/figures";
import { configuration, objectOf, resourceSchema } from "./subject.ts";

/** Typed values to msgpack and back, against a library that knows nothing of types. */
export async function codec(scale: number): Promise<void> {
  for (const attributes of [50, 500]) {
    const { type } = resourceSchema(attributes);
    const content = configuration(attributes);
    const value = objectOf(content, type);
    const bytes = encodeMsgpack(value, type);
    const plainBytes = encode(content);
    const calls = Math.round((100_000 / attributes) * scale);
    const title = (what: string) =>
      `${what}, object of ${attributes} attributes (${bytes.length} bytes, plain ${plainBytes.length})`;
    const sync = (run: () => unknown) => async () => Promise.resolve(run());
    printLatencies(
      "providers",
      title("Encode"),
      await latencies(
        [
          { what: "@msgpack/msgpack, plain objects", call: sync(() => encode(content)) },
          { what: "typed values", call: sync(() => encodeMsgpack(value, type)) },
        ],
        calls,
      ),
    );
    printLatencies(
      "providers",
      title("Decode"),
      await latencies(
        [
          { what: "@msgpack/msgpack, plain objects", call: sync(() => decode(plainBytes)) },
          { what: "typed values", call: sync(() => decodeMsgpack(bytes, type)) },
        ],
        calls,
      ),
    );
  }
}
