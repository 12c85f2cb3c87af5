import type { FunctionPlatformName } from "./function-platform.ts";

/** The name of the file in an archive that says what the function is. */
export const FUNCTION_MANIFEST = "stackwright.function.json";

/** What a provider declares, as far as a function carries it. */
export interface PackagedSchema {
  /** SHA-256 of the schema with its entries in order, hexadecimal: the same for each start of the same provider. */
  readonly sha256: string;
  readonly resources: readonly string[];
  readonly dataSources: readonly string[];
  /** Declared by the provider, and not to be used through a function. */
  readonly notCarried: readonly string[];
}

/** What is started in a packaged function; paths are in the archive. */
export type FunctionRun =
  /** A module that serves the provider when it is imported: at `PORT`. */
  | { readonly module: string }
  /** A program of the plug-in protocol, with the variables that it gets. */
  | { readonly provider: string; readonly environment: readonly string[] };

/** A packaged function. */
export interface FunctionManifest {
  readonly format: 1;
  readonly name: string;
  readonly version?: string;
  readonly platform: FunctionPlatformName;
  readonly run: FunctionRun;
  /** Absent where the provider was not started when it was packed. */
  readonly schema?: PackagedSchema;
}
