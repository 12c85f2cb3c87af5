import type { VerifiableRequest } from "@stackwright/request-signing";
import type { RfsStacksErrorCode } from "../errors.ts";
import type { PlanPort } from "./plan-port.ts";
import type { StackPort } from "./stack-port.ts";
import type { StackSetPort } from "./stack-set-port.ts";
import type { TemplatePort } from "./template-port.ts";

/** What a caller may do in a project, lowest first: read, request plans, deploy, make and delete stacks. */
export type RfsAccess = "viewer" | "planner" | "operator" | "admin";

/** Who makes a request. */
export interface RfsCaller {
  readonly account: string;
  readonly actor: string;
  /** Throws unless the caller may do this in a project: with a stack of it where one is given, otherwise with what belongs to no stack. */
  require(project: string, access: RfsAccess, stack?: string): void;
  /** Throws unless the caller may do this with some stack of a project at least; which it sees, {@link sees} says. */
  requireSome(project: string, access: RfsAccess): void;
  /** Throws unless the caller may do this in all of the account, rather than in some projects or stacks of it. */
  requireAccount(access: RfsAccess): void;
  /** Whether a list shows a stack. */
  sees(project: string, stack: string): boolean;
}

/** How a failure of the server is answered. */
export interface RfsPortFailure {
  readonly status: number;
  readonly detail: string;
  /** Where the API has a code of its own for it, whose status is answered then. */
  readonly code?: RfsStacksErrorCode | undefined;
  readonly retryAfterMs?: number | undefined;
}

/** What a request asks to be changed, for a trail of changes. */
export interface RfsChange {
  readonly caller: RfsCaller;
  /** Such as `CreateStack`. */
  readonly action: string;
  /** The path of the request behind `/v1/`, at most 256 characters. */
  readonly target: string;
  readonly requestId: string;
  readonly remoteAddress: string;
}

/** One change while it is made. */
export interface RfsOpenChange {
  /** The server, whose first batch that changes something has the entry of this change. */
  readonly port: RfsStacksPort;
  /** Notes how the request was answered, unless a batch has the entry. Never rejects. */
  ended(status: number): Promise<void>;
}

/** A server for {@link rfsStacksPlugin}. */
export interface RfsStacksPort {
  /** By a signature over all of a request, or by a token. */
  authenticate(request: VerifiableRequest): Promise<RfsCaller>;
  /** Throws for a caller that makes too many requests. */
  admit(caller: RfsCaller): void;
  failureOf(error: unknown): RfsPortFailure;
  /** Begins a change of a caller that {@link authenticate} has given. */
  change(change: RfsChange): RfsOpenChange;
  /** Reads an address that a request names. Throws where it must not be reached, or has more bytes. */
  read(address: URL, maxBytes: number, signal: AbortSignal): Promise<Uint8Array>;
  /** Makes the part of an address that carries the permission of a caller to read some content, for a time. */
  signContent(caller: RfsCaller, target: ContentTarget, lifeMs: number): Promise<string>;
  /** Reads that part; undefined where it was changed or has expired, or the caller that it was made for has no permission any more. */
  readContentAddress(signed: string): Promise<ContentTarget | undefined>;
  /** Makes and checks the authentication codes of markers. */
  markerKey(): Promise<Uint8Array>;
  readonly stacks: StackPort;
  readonly plans: PlanPort;
  readonly templates: TemplatePort;
  readonly stackSets: StackSetPort;
}

/** Content that an address is for. */
export type ContentTarget =
  | {
      readonly kind: "stack";
      readonly account: string;
      readonly project: string;
      readonly stack: string;
      readonly name: string;
      readonly deployment: string;
    }
  | {
      readonly kind: "template";
      readonly account: string;
      readonly project: string;
      readonly template: string;
      readonly version: number;
    }
  | {
      readonly kind: "stack-set";
      readonly account: string;
      readonly set: string;
      /** Id of the set: another one of the name has other templates. */
      readonly id: string;
    };
