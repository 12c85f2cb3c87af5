import { serveTerraformProvider } from "@stackwright/tfplugin/serve";
import { FunctionCaller } from "../caller/function-caller.ts";
import { FgBridgeError } from "../errors.ts";
import { requireFunctionUrn } from "../target/function-urn.ts";
import { FunctionTargetTable, type TargetTableOptions } from "../target/target-table.ts";
import type { UrlCredentials } from "../target/url-target.ts";
import {
  BRIDGE_VARIABLES,
  type BridgeEnvironment,
  type BridgeManifest,
  ownManifest,
  readBridgeEnvironment,
} from "./bridge-binding.ts";
import { BridgeTransport } from "./bridge-transport.ts";

/** A transport of the bridge, put together from what the archive and the environment say. */
export function openBridge(
  manifest: BridgeManifest,
  environment: BridgeEnvironment,
): BridgeTransport {
  const { functionUrn, address, schema } = manifest;
  const { project } = requireFunctionUrn(functionUrn);
  const table = new FunctionTargetTable({
    ...rowsOf(manifest, environment),
    guard: { allow: manifest.networks ?? [] },
  });
  const target = table.resolve(functionUrn, { projects: [project] });
  const remote = new FunctionCaller(environment.caller).transport({ target });
  return new BridgeTransport({
    remote,
    schema: Buffer.from(schema, "base64"),
    address,
    stopGraceMs: environment.stopGraceMs,
  });
}

function rowsOf(
  { endpoint, functionUrn }: BridgeManifest,
  environment: BridgeEnvironment,
): Pick<TargetTableOptions, "functions" | "regions"> {
  const { accessKey, secretKey, securityToken, bearerToken } = environment;
  const key =
    accessKey === undefined || secretKey === undefined
      ? undefined
      : { accessKey, secretKey, ...(securityToken === undefined ? {} : { securityToken }) };
  if (endpoint.kind === "url") {
    const credentials: UrlCredentials | undefined =
      bearerToken !== undefined
        ? { kind: "bearer", token: bearerToken }
        : key === undefined
          ? undefined
          : { kind: "signature", key };
    const row = { url: endpoint.url, ...(credentials === undefined ? {} : { credentials }) };
    return { functions: { [functionUrn]: row } };
  }
  if (key === undefined) {
    const { accessKey: a, secretKey: s } = BRIDGE_VARIABLES;
    const text = `the function is called with an access key: set ${a} and ${s}`;
    throw new FgBridgeError("FG_OPTIONS_INVALID", text);
  }
  const { region } = requireFunctionUrn(functionUrn);
  const { endpoint: url, functionKind } = endpoint;
  const row = {
    endpoint: url,
    credentials: key,
    ...(functionKind === undefined ? {} : { functionKind }),
  };
  return { regions: { [region]: row } };
}

/**
 * The whole program that an archive holds. What keeps it from working is said as a diagnostic of the first call that needs
 * the function, so that the schema can always be read.
 */
export async function runBridgeProvider(): Promise<never> {
  return serveTerraformProvider({
    protocols: {
      5: () => {
        const manifest = ownManifest();
        const schema = Buffer.from(manifest.schema, "base64");
        try {
          return openBridge(manifest, readBridgeEnvironment(process.env));
        } catch (error) {
          const remote = {
            protocol: 5 as const,
            unary: async () => {
              throw error;
            },
            close: async () => undefined,
            [Symbol.asyncDispose]: async () => undefined,
          };
          return new BridgeTransport({ remote, schema, address: manifest.address });
        }
      },
    },
  });
}
