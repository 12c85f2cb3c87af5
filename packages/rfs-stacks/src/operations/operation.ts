import type { RfsAccess, RfsCaller, RfsStacksPort } from "../port/rfs-stacks-port.ts";
import { QueryFields } from "../request/query-fields.ts";

/** Everything in a request that an operation works with. */
export interface OperationCall {
  readonly port: RfsStacksPort;
  readonly caller: RfsCaller;
  readonly project: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: string;
  readonly body: unknown;
  /** Aborts when the client goes away. */
  readonly signal: AbortSignal;
}

/** The answer of an operation: a body, nothing, or an address of content to be redirected to. */
type OperationResult = { readonly body: object } | { readonly content: string } | undefined;

/** One operation of the API. */
export interface Operation {
  readonly name: string;
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Behind `/v1/{project_id}`, or `/v1` in the scope of the account. */
  readonly path: string;
  /** What its access is asked for in. @default "project" */
  readonly scope?: "project" | "account";
  readonly access: RfsAccess;
  /** It answers with stacks of the project alone, and leaves out those that the caller does not see. @default false */
  readonly limitsStacks?: boolean;
  readonly status: number;
  /** It reads a JSON body. */
  readonly hasBody: boolean;
  /** Other spellings of a target which are the same request, as some clients sign them. @default none */
  readonly aliases?: (target: string) => readonly string[];
  readonly run: (call: OperationCall) => Promise<OperationResult>;
}

export function queryOf({ query }: OperationCall, ...known: readonly string[]): QueryFields {
  return new QueryFields(query, known);
}

/** Names what a list is of, so that its markers are good for no other. */
export function listName({ caller, project }: OperationCall, ...parts: readonly string[]): string {
  return [caller.account, project, ...parts].join("\0");
}

export function timeText(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}

/** How long a link to content is valid. */
export const LINK_MS = 5 * 60_000;
