import { readFileSync } from "node:fs";

/** The backend that `terraform init` recorded. */
export interface BackendRecord {
  readonly type: string;
  /** Arguments that are set and are texts. */
  readonly config: ReadonlyMap<string, string>;
  /** All arguments that are set, credentials included. */
  readonly values: Readonly<Record<string, unknown>>;
}

/** Reads the record of a data folder (`.terraform/terraform.tfstate`). Undefined where none was made. */
export function readBackendRecord(path: string): BackendRecord | undefined {
  let record: unknown;
  try {
    record = JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return undefined;
  }
  const { backend } = (record ?? {}) as { readonly backend?: unknown };
  const { type, config } = (backend ?? {}) as {
    readonly type?: unknown;
    readonly config?: unknown;
  };
  if (typeof type !== "string" || type === "") return undefined;
  const texts = Object.entries(config ?? {}).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string" && entry[1] !== "",
  );
  const values = Object.fromEntries(
    Object.entries(config ?? {}).filter(([, value]) => value !== null),
  );
  return { type, config: new Map(texts), values };
}
