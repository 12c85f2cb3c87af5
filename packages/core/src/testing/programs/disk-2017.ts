import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type CocorpcProvider, serveCocorpcProvider } from "@stackwright/mux/cocorpc";
import { RpcError } from "@stackwright/proto/grpc";
import { structFromJson, structToJson } from "@stackwright/proto/property";

/*
 * A provider process of the protocol of 2017 for tests: volumes as files of a folder, which the first argument names, and a
 * line in `calls` for everything that changes one. Another size needs another volume. Says its port as its first line.
 */

const [, , folder = "."] = process.argv;
mkdirSync(folder, { recursive: true });

type Properties = Record<string, unknown>;

const read = (struct: Uint8Array | undefined) =>
  structToJson(struct ?? new Uint8Array()) as Properties;
const note = (call: string): void => appendFileSync(join(folder, "calls"), `${call}\n`);
const fileOf = (id: string): string => join(folder, `${id}.json`);

function load(id: string): Properties {
  try {
    return JSON.parse(readFileSync(fileOf(id), "utf8")) as Properties;
  } catch {
    throw new RpcError("NOT_FOUND", `there is no volume ${id}`);
  }
}

const provider: CocorpcProvider = {
  check: async ({ properties }) => {
    const { size } = read(properties);
    const failures =
      typeof size === "number" && size < 1
        ? [{ property: "size", reason: "must be positive" }]
        : [];
    return Promise.resolve({ failures });
  },
  name: async ({ properties }) => Promise.resolve({ name: String(read(properties).label) }),
  create: async ({ properties }) => {
    const given = read(properties);
    const id = `vol-${String(given.label)}-${process.pid}`;
    note(`create ${String(given.label)} ${String(given.size)}`);
    if (given.label === "broken") throw new RpcError("UNKNOWN", "the disk is full");
    writeFileSync(fileOf(id), JSON.stringify({ ...given, path: `/dev/${String(given.label)}` }));
    return Promise.resolve({ id });
  },
  get: async ({ id }) => Promise.resolve({ properties: structFromJson(load(id)) }),
  previewUpdate: async ({ olds, news }) => {
    const [before, after] = [read(olds), read(news)];
    const replaces = before.size === after.size ? [] : ["size"];
    const changes = Object.entries(after).filter(([name, value]) => before[name] !== value);
    return Promise.resolve({ replaces, changes: structFromJson(Object.fromEntries(changes)) });
  },
  update: async ({ id, news }) => {
    const before = load(id);
    const after = read(news);
    note(`update ${String(before.label)} ${String(after.note)}`);
    writeFileSync(fileOf(id), JSON.stringify({ ...before, ...after }));
    return Promise.resolve({});
  },
  delete: async ({ id }) => {
    note(`delete ${String(load(id).label)}`);
    rmSync(fileOf(id));
    return Promise.resolve({});
  },
};

const server = await serveCocorpcProvider(provider);
process.stdout.write(`${"port" in server.address ? server.address.port : ""}\n`);
