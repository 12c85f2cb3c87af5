import { readFileSync } from "node:fs";
import { EngineError } from "../errors.ts";

/** The backend that `terraform init` recorded. */
export interface BackendRecord {
  readonly type: string;
  /** Arguments that are set and are texts. */
  readonly config: ReadonlyMap<string, string>;
  /** All arguments that are set, credentials included. */
  readonly values: Readonly<Record<string, unknown>>;
}

/**
 * Reads the record of a data folder (`.terraform/terraform.tfstate`). Undefined where none was made.
 * `ENGINE_STATE_FILE_INVALID` where it cannot be read: it names the place of the state, so it must not count as none.
 */
export function readBackendRecord(path: string): BackendRecord | undefined {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    const { code = "unknown error" } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw damaged(path, `it cannot be read (${code})`, error);
  }
  let record: unknown;
  try {
    record = JSON.parse(text);
  } catch (error) {
    const problem = text.trim() === "" ? "the file is empty" : "it is not JSON, or was cut off";
    throw damaged(path, problem, error);
  }
  if (!isObject(record) || (record["backend"] !== undefined && !isRecordedBackend(record))) {
    throw damaged(path, "it is not a record of a backend");
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

function isRecordedBackend({ backend }: Readonly<Record<string, unknown>>): boolean {
  if (backend === null) return true;
  return isObject(backend) && typeof backend["type"] === "string";
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function damaged(path: string, problem: string, cause?: unknown): EngineError {
  return new EngineError(
    "ENGINE_STATE_FILE_INVALID",
    `the backend record of "terraform init", ${path}, is damaged: ${problem}`,
    {
      cause,
      details: {
        advice:
          "Run terraform init again. Remove the file only if the configuration never had a backend.",
      },
    },
  );
}
