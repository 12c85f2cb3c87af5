import type { ResourceProvider } from "@stackwright/mux";
import type { GetSchemaRequest, GetSchemaResponse } from "@stackwright/proto/pulumirpc";
import type { SchemaStore } from "@stackwright/tfplugin";
import type { ProgramParameters } from "./catalog.ts";

/** What one version of a plug-in of Pulumi answers when it is asked for its schema, kept beyond the process. */
export interface KeptSchema {
  read(request: GetSchemaRequest): Promise<GetSchemaResponse | undefined>;
  write(request: GetSchemaRequest, reply: GetSchemaResponse): Promise<void>;
}

/** The question for the schema of the package as a whole. */
export const WHOLE_PACKAGE: GetSchemaRequest = {
  version: 0,
  subpackageName: "",
  subpackageVersion: "",
};

const NOTHING = new Uint8Array();

/**
 * The schemas of a plug-in in a store.
 *
 * @param digest of the files of the plug-in
 * @param parameters what it is parameterized with, as an SDK recorded it. What words make of it may be another package the next time.
 */
export function keptSchema(
  store: SchemaStore,
  digest: string,
  parameters: Exclude<ProgramParameters, readonly string[]> | undefined,
): KeptSchema {
  const keyOf = ({ version, subpackageName, subpackageVersion }: GetSchemaRequest): string =>
    JSON.stringify(["pulumi", digest, version, subpackageName, subpackageVersion, parameters]);
  return {
    async read(request) {
      const found = await store.read(keyOf(request));
      return found && { schema: Buffer.from(found.schema).toString("utf8") };
    },
    async write(request, { schema }) {
      if (!isJson(schema)) return;
      await store.write(keyOf(request), { schema: Buffer.from(schema), identities: NOTHING });
    },
  };
}

/** A provider that is asked for its schema only where that is not kept. */
export function withKeptSchema(provider: ResourceProvider, kept: KeptSchema): ResourceProvider {
  return {
    ...provider,
    async getSchema(request, context) {
      const found = await kept.read(request);
      if (found !== undefined) return found;
      const reply = await provider.getSchema(request, context);
      await kept.write(request, reply);
      return reply;
    },
  };
}

/** What is none would be refused again by each command until the plug-in has another version. */
function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
