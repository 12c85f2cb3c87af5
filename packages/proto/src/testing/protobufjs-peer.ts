import { existsSync } from "node:fs";
import { join } from "node:path";
import protobuf from "protobufjs";
import { PACKAGE_FOLDER } from "./descriptors.ts";
import type { Peer } from "./peer.ts";
import { toPlain } from "./random-message.ts";

const SOURCES = ["proto/published", "proto/own"].map((folder) => join(PACKAGE_FOLDER, folder));

// The built-in Any is the one type of protobufjs whose fields are not in camel case.
protobuf.common("any", {
  Any: { fields: { typeUrl: { type: "string", id: 1 }, value: { type: "bytes", id: 2 } } },
});

/**
 * protobufjs, with its own parser over the `.proto` files named and what they import.
 * google.protobuf comes from protobufjs itself.
 */
export async function protobufjsPeer(files: readonly string[]): Promise<Peer> {
  const root = new protobuf.Root();
  root.resolvePath = (_origin, target) => {
    if (protobuf.common.get(target) !== null) return target;
    const path = SOURCES.map((folder) => join(folder, target)).find(existsSync);
    if (path === undefined) throw new Error(`${target} is not in ${SOURCES.join(" or ")}`);
    return path;
  };
  await root.load([...files]);
  return {
    encode: (message) => {
      const type = root.lookupType(message.desc.typeName);
      return type.encode(type.fromObject(toPlain(message))).finish();
    },
    decode: (desc, bytes) => {
      const type = root.lookupType(desc.typeName);
      return type.toObject(type.decode(bytes), { longs: String, bytes: String });
    },
  };
}
