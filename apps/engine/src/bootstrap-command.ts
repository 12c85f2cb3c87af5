import { resolve } from "node:path";
import { systemClock } from "@stackwright/base/clock";
import { openStore, parseStoreAddress } from "@stackwright/core";
import { CredentialStore, createKeyRing, createRegistry } from "@stackwright/registry";
import {
  type BootstrapCredentials,
  createFirstCredentials,
  writeCredentials,
} from "./bootstrap.ts";
import { parseServeArguments } from "./serve-arguments.ts";
import { serverKeys } from "./server-key.ts";
import { resolveServerOptions, type ServerOptions } from "./server-options.ts";

/**
 * Makes the first token and access key of a store, or further ones, without a server. An embedded store
 * must not be in use by one (`STORAGE_LOCKED`).
 */
export async function bootstrap(
  options: ServerOptions,
  account: string,
  parts: {
    readonly env?: NodeJS.ProcessEnv;
    readonly directory?: string;
    readonly evenIfThereAreSome?: boolean;
  } = {},
): Promise<BootstrapCredentials> {
  const resolved = resolveServerOptions(options);
  const { env = process.env, directory = process.cwd(), evenIfThereAreSome = false } = parts;
  const address = parseStoreAddress(resolved.store, directory);
  const loaded = await serverKeys(resolved, address, env);
  const blobDirectory = resolve(directory, resolved.blobDirectory ?? "blobs");
  await using store = await openStore(address, { blobDirectory });
  const keys = createKeyRing(loaded.map(({ bytes }) => bytes));
  const registry = createRegistry({ storage: store.storage, blobs: store.blobs, keys });
  const { records } = registry.parts;
  const credentials = new CredentialStore({ records, keys, clock: systemClock });
  return await createFirstCredentials(credentials, account, { evenIfThereAreSome });
}

/**
 * The command: `[--account NAME] [--again] [--output FILE]` and the options of a server, of which the store and its key matter.
 * Gives what is to be printed: the credentials as JSON, or nothing where they went to a file.
 */
export async function runBootstrap(
  given: readonly string[],
  env: NodeJS.ProcessEnv,
  directory: string,
): Promise<string> {
  const rest = [...given];
  const take = (name: string): string | undefined => {
    const at = rest.indexOf(name);
    return at < 0 ? undefined : rest.splice(at, 2)[1];
  };
  const account = take("--account") ?? "default";
  const output = take("--output");
  const evenIfThereAreSome = rest.includes("--again");
  const options = await parseServeArguments(
    rest.filter((word) => word !== "--again"),
    env,
    directory,
  );
  const make = async (): Promise<BootstrapCredentials> =>
    bootstrap(options, account, { env, directory, evenIfThereAreSome });
  if (output === undefined) return `${JSON.stringify(await make(), undefined, 2)}\n`;
  await writeCredentials(resolve(directory, output), make);
  return "";
}
