import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { ProviderSchema } from "@stackwright/mux/router";
import {
  createPluginClient,
  type EncodedSchema,
  type PluginTransport,
  type SchemaStore,
} from "@stackwright/tfplugin";
import { launchPoolMember } from "@stackwright/tfplugin/pool";
import { recordFigure, spreadOf } from "@stackwright-bench/figures";

const MIRROR = process.env["TEST_AWS_MIRROR"] ?? "/opt/tf-plugins";
const PACKAGE = "registry.terraform.io/hashicorp/aws/5.100.0/linux_amd64";
const schemaKey = "aws";
const ROUNDS = 5;
/** What a configuration of usual size declares. */
const USED = 10;
/** Ours by the baseline: 8 MB, where all types read take 43 MB. */
const TARGET = 0.19;

/** What the process keeps of the schema of a large provider when few of its types are used. The baseline reads all types. */
export async function largeProvider(): Promise<void> {
  const folder = join(MIRROR, PACKAGE);
  const files = await readdir(folder).catch(() => []);
  const program = files.find((name) => name.startsWith("terraform-provider-"));
  if (program === undefined) {
    console.log(`\nLarge provider: skipped, ${folder} is not there`);
    return;
  }
  const schemaStore = await storeOf(join(folder, program));
  const subjects = [
    [`${USED} types used`, USED],
    ["all types used", Number.POSITIVE_INFINITY],
  ] as const;
  const found = subjects.map((): number[] => []);
  // The first round is not counted: what it leaves in the process is not the schema's.
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const [index, [, count]] of subjects.entries()) {
      const megabytes = await kept(() => readFrom(schemaStore), count);
      if (round > 0) found[index]?.push(megabytes);
    }
  }
  const [ours, baseline] = subjects.map(([name], index) => spreadOf(name, found[index] ?? []));
  if (ours === undefined || baseline === undefined) return;
  console.log(
    "\nMemory that the schema of AWS 5.100.0 keeps, MB\n\n| what | middle | least-most |",
  );
  console.log("|---|---|---|");
  for (const { subject, middle, least, most } of [ours, baseline]) {
    console.log(`| ${subject} | ${middle} | ${least}-${most} |`);
  }
  const name = "providers: memory of the schema of AWS, 10 types used";
  recordFigure({ name, unit: "MB", size: 1, of: "schema", ours, baseline, target: TARGET });
}

/** A store that has the schema of a program. */
async function storeOf(command: string): Promise<SchemaStore> {
  let encoded: EncodedSchema | undefined;
  const store: SchemaStore = {
    // Bytes of its own each time, as from a file, so that they count as well.
    read: async () =>
      Promise.resolve(
        encoded && {
          schema: new Uint8Array(encoded.schema),
          identities: new Uint8Array(encoded.identities),
        },
      ),
    write: async (_, schema) => {
      encoded = schema;
      return Promise.resolve();
    },
    drop: async () => Promise.resolve(),
  };
  const member = await launchPoolMember({ command, args: [] }, { schemaStore: store, schemaKey });
  await member.provider.schema({});
  await member.close();
  if (encoded === undefined) throw new Error("the schema was not stored");
  return store;
}

/** The schema as a command finds it that ran before, in a client of its own. */
async function readFrom(schemaStore: SchemaStore): Promise<ProviderSchema> {
  const close = async () => Promise.resolve();
  const transport: PluginTransport = {
    protocol: 5,
    unary: async (method) => Promise.reject(new Error(`${method} was called`)),
    close,
    [Symbol.asyncDispose]: close,
  };
  const client = createPluginClient(transport, { schemaStore, schemaKey });
  return (await client.schema({})).schema;
}

/** Megabytes that stay while a schema is held of which some types were read. */
async function kept(read: () => Promise<ProviderSchema>, types: number): Promise<number> {
  const floor = used();
  const schema = await read();
  let at = 0;
  for (const name of schema.resources.keys()) {
    if (at === types) break;
    schema.resources.get(name);
    at += 1;
  }
  const megabytes = used() - floor;
  // Read after the measurement, so that it is still there during it.
  if (schema.resources.size === 0) throw new Error("nothing was read");
  return Math.round(megabytes * 10) / 10;
}

function used(): number {
  globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return (heapUsed + arrayBuffers) / 1e6;
}
