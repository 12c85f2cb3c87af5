import {
  type BridgeArchive,
  type BridgeArchiveSource,
  type BridgeBinding,
  Platform,
  ProviderSourceError,
  packBridgeArchive,
} from "@stackwright/provider-source";
import { FunctionCaller } from "../caller/function-caller.ts";
import { requireFunctionUrn } from "../target/function-urn.ts";
import type { FunctionTargetTable } from "../target/target-table.ts";
import type { BridgeEndpoint } from "./bridge-binding.ts";
import { type BridgeProgram, loadBridgeProgram, packBridgeExecutable } from "./bridge-program.ts";
import { bundleSchema } from "./bundled-schema.ts";

export interface BridgeArchiveSourceOptions {
  /** How this process reaches functions, for their schemas. */
  readonly targets: FunctionTargetTable;
  /** How the users of archives reach the function. Public; goes into the archive. */
  readonly endpointOf: (binding: BridgeBinding) => BridgeEndpoint;
  /** Private networks that users' bridges may reach, for functions in such a network. @default none */
  readonly networks?: readonly string[];
  /**
   * The schema of a version, where it is known already (`GetProviderSchema.Response`).
   *
   * @default asks the function
   */
  readonly schemaOf?: (
    binding: BridgeBinding,
    options: { readonly signal?: AbortSignal },
  ) => Promise<Uint8Array | undefined>;
  /** @default linux, darwin and windows on amd64 and arm64, as far as Node's executables without a suffix run: no windows */
  readonly platforms?: readonly Platform[];
  /** @default the one of this package */
  readonly program?: BridgeProgram;
}

const PLATFORMS = ["darwin_amd64", "darwin_arm64", "linux_amd64", "linux_arm64"];

/**
 * Makes the archives with which an unmodified `terraform` uses providers that live in functions. Each holds one
 * executable: the bridge, the provider's schema, and where its function is. It needs Node 20.9 or newer in the PATH of
 * the user who runs it, and reads its credentials from that environment.
 *
 * The schema is asked from the function once per version and process.
 *
 * @throws FgBridgeError `FG_BRIDGE_UNAVAILABLE` where the program is not there
 */
export async function createBridgeArchiveSource(
  options: BridgeArchiveSourceOptions,
): Promise<BridgeArchiveSource> {
  const program = options.program ?? (await loadBridgeProgram());
  return new ArchiveSource(program, options);
}

class ArchiveSource implements BridgeArchiveSource {
  readonly revision: string;
  readonly #program: BridgeProgram;
  readonly #options: BridgeArchiveSourceOptions;
  readonly #platforms: readonly Platform[];
  readonly #caller = new FunctionCaller();
  readonly #schemas = new Map<string, Uint8Array>();

  constructor(program: BridgeProgram, options: BridgeArchiveSourceOptions) {
    this.#program = program;
    this.revision = program.revision;
    this.#options = options;
    const platforms = options.platforms ?? PLATFORMS.map((text) => Platform.parse(text));
    this.#platforms = platforms.toSorted(Platform.compare);
  }

  async platforms(
    _binding: BridgeBinding,
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<readonly Platform[]> {
    signal?.throwIfAborted();
    return this.#platforms;
  }

  async archive(
    { platform, ...binding }: BridgeBinding & { readonly platform: Platform },
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<BridgeArchive | undefined> {
    signal?.throwIfAborted();
    if (!this.#platforms.some((known) => known.equals(platform))) return undefined;
    const { address, version, functionUrn } = binding;
    const schema = await this.#schema(binding, signal);
    const { networks = [], endpointOf } = this.#options;
    const content = packBridgeExecutable(this.#program, {
      address: address.toString(),
      version: version.toString(),
      functionUrn,
      endpoint: endpointOf(binding),
      ...(networks.length === 0 ? {} : { networks }),
      schema: Buffer.from(schema).toString("base64"),
    });
    const path = `terraform-provider-${address.type}_v${version.toString()}`;
    return packBridgeArchive(
      { address, version, platform },
      [{ path, mode: 0o755, content }],
      ["5.0"],
      signal === undefined ? {} : { signal },
    );
  }

  async #schema(binding: BridgeBinding, signal: AbortSignal | undefined): Promise<Uint8Array> {
    const { address, version, functionUrn } = binding;
    const key = `${address.toString()} ${version.toString()} ${functionUrn}`;
    const known = this.#schemas.get(key);
    if (known !== undefined) return known;
    const options = signal === undefined ? {} : { signal };
    const details = { address: address.toString(), version: version.toString() };
    let given: Uint8Array;
    try {
      given =
        (await this.#options.schemaOf?.(binding, options)) ??
        (await this.#ask(functionUrn, options));
    } catch (cause) {
      signal?.throwIfAborted();
      const reason = cause instanceof Error ? cause.message : String(cause);
      const text = `the schema of ${address.toString()} ${version.toString()} is not available: ${reason}`;
      throw new ProviderSourceError("PROVIDER_SOURCE_BRIDGE_UNAVAILABLE", text, details, { cause });
    }
    const schema = bundleSchema(given);
    if (schema === undefined) {
      const text = `what the function of ${address.toString()} returned is not a provider schema`;
      throw new ProviderSourceError("PROVIDER_SOURCE_BRIDGE_UNAVAILABLE", text, details);
    }
    this.#schemas.set(key, schema);
    return schema;
  }

  async #ask(functionUrn: string, options: { readonly signal?: AbortSignal }): Promise<Uint8Array> {
    const { project } = requireFunctionUrn(functionUrn);
    const target = this.#options.targets.resolve(functionUrn, { projects: [project] });
    await using transport = this.#caller.transport({ target });
    return await transport.unary("GetSchema", new Uint8Array(), options);
  }
}
