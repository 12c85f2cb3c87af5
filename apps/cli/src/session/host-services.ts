import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";

export type Fetch = (url: URL, init?: RequestInit) => Promise<Response>;

type JsonObject = Readonly<Record<string, unknown>>;

/** A host that offers a login, as messages call it, and where it is. */
export interface LoginHost {
  /** Such as `https://registry.example.com`. */
  readonly address: string;
  readonly name: string;
}

/** What a host offers, and the address that the addresses in it are relative to. */
export async function hostServices(
  { address, name }: LoginHost,
  { signal }: Pick<CommandContext, "signal">,
  fetch: Fetch,
): Promise<{ readonly services: JsonObject; readonly document: URL }> {
  const document = new URL("/.well-known/terraform.json", address);
  try {
    return { services: await jsonOf(document, { signal }, fetch), document };
  } catch (error) {
    throw new CommandError(`The services of ${name} are not available: ${messageOf(error)}.`, {
      cause: error,
      advice: "Check the name of the host.",
    });
  }
}

/** The object in an answer; fails for others than successful ones. */
export async function jsonOf(url: URL, init: RequestInit, fetch: Fetch): Promise<JsonObject> {
  const response = await fetch(url, init);
  if (!response.ok) throw new Error(`status ${response.status} of ${url.origin}${url.pathname}`);
  const value: unknown = await response.json();
  return isRecord(value) ? value : {};
}

export function isRecord(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
