import { withDeadline } from "./deadline.ts";
import { ClientError } from "./errors.ts";
import { type FollowOptions, followRun, type RunLogEvent } from "./follow-run.ts";
import { OPERATIONS, type OperationRow, type Operations, type UploadBody } from "./gen/api.ts";
import {
  type ResolvedServerClientOptions,
  resolveServerClientOptions,
  type ServerClientOptions,
} from "./options.ts";
import { requestOf } from "./request-of.ts";
import { sendRequest } from "./send-request.ts";
import {
  type StackStatusChange,
  type TopicChange,
  type TopicObjects,
  type WatchTopicsOptions,
  watchTopics,
} from "./watch-topics.ts";

/** What every call takes beyond the input of its operation. */
export interface RequestOptions {
  readonly signal?: AbortSignal;
  /** Time of the call with all its attempts, in milliseconds. @default that of the client */
  readonly timeoutMs?: number;
}

/** The answer to a call. */
export interface Answer<T> {
  readonly status: number;
  readonly data: T;
  /** The body as it was sent: numbers in it are exact. Empty where the data are bytes. */
  readonly text: string;
  /** Version of the resource, for `ifMatch`. */
  readonly etag: string | undefined;
  /** The server has answered this idempotency key before. */
  readonly isReplay: boolean;
}

type OperationName = keyof Operations;
type Input<Name extends OperationName> = Operations[Name]["input"];
type Output<Name extends OperationName> = Operations[Name]["output"];
/** Operations that answer page by page. */
type PagedName = {
  [Name in OperationName]: Operations[Name] extends { readonly item: unknown } ? Name : never;
}[OperationName];

type Calls = {
  readonly [Name in OperationName as Uncapitalize<Name>]: (
    input: Input<Name>,
    options?: RequestOptions,
  ) => Promise<Answer<Output<Name>>>;
};

/** A client of one server. It holds no connection that has to be closed. */
export interface ServerClient extends Calls {
  /** Address of the server, without a slash at the end. */
  readonly server: string;
  /** All items of an operation that answers page by page, such as `each("ListRuns", {project, stack})`. */
  each<Name extends PagedName>(
    name: Name,
    input: Omit<Input<Name>, "after">,
    options?: RequestOptions,
  ): AsyncIterable<Operations[Name]["item"]>;
  /** The events of a run until its end, each once and in order, over lost connections. */
  followRun(options: FollowOptions): AsyncIterable<RunLogEvent>;
  /** The status of all stacks that the token may see, and each change of it, over lost connections. */
  watchStacks(options?: WatchTopicsOptions): AsyncIterable<StackStatusChange>;
  /** The objects of topics that the token may see, and each change of them, over one connection that is opened again. */
  watchTopics<Name extends keyof TopicObjects>(
    topics: readonly Name[],
    options?: WatchTopicsOptions,
  ): AsyncIterable<TopicChange<Name>>;
}

/**
 * A client of the API of a server. Calls reject with `ClientError`, or with the reason of their signal. Operations that take an idempotency
 * key make one where none is given. Reads, and the requests for runs, retries and plan sets, are repeated after failures that may be
 * repeated.
 */
export function createServerClient(given: ServerClientOptions): ServerClient {
  const options = resolveServerClientOptions(given);
  const calls = Object.fromEntries(
    (Object.keys(OPERATIONS) as OperationName[]).map((name) => [
      name.charAt(0).toLowerCase() + name.slice(1),
      async (input: object, callOptions?: RequestOptions) =>
        call(options, name, input, callOptions),
    ]),
  ) as unknown as Calls;
  return {
    ...calls,
    server: options.server,
    each: (name, input, callOptions) => each(options, name, input, callOptions),
    followRun: (follow) => followRun(options, follow),
    watchStacks: (watch) => watchTopics(options, ["stacks"], watch),
    watchTopics: (topics, watch) => watchTopics(options, topics, watch),
  };
}

async function call(
  options: ResolvedServerClientOptions,
  name: OperationName,
  input: object,
  { signal, timeoutMs = options.timeoutMs }: RequestOptions = {},
): Promise<Answer<unknown>> {
  const operation = OPERATIONS[name];
  const request = requestOf(
    name,
    operation,
    input as Readonly<Record<string, unknown>> & { readonly body?: UploadBody | object },
    options.nextKey,
  );
  return withDeadline({ clock: options.clock, timeoutMs, signal }, async (limited) =>
    sendRequest(options, request, limited, async (answer) => readAnswer(answer, operation)),
  );
}

async function readAnswer(
  answer: Response,
  { text: isText, bytes: isBytes }: OperationRow,
): Promise<Answer<unknown>> {
  const { status, headers } = answer;
  const bytes = isBytes === true ? new Uint8Array(await answer.arrayBuffer()) : undefined;
  const text = bytes === undefined ? await answer.text() : "";
  let data: unknown = bytes;
  try {
    if (text !== "") data = isText === true ? text : JSON.parse(text);
  } catch (cause) {
    const message = `the answer with the status ${status} is not JSON`;
    throw new ClientError("CLIENT_UNEXPECTED_ANSWER", message, { status, cause });
  }
  return {
    status,
    data,
    text,
    etag: headers.get("etag") ?? undefined,
    isReplay: headers.get("idempotency-replayed") === "true",
  };
}

async function* each<Name extends PagedName>(
  options: ResolvedServerClientOptions,
  name: Name,
  input: object,
  callOptions: RequestOptions | undefined,
): AsyncGenerator<Operations[Name]["item"]> {
  const { items = "" } = OPERATIONS[name];
  let after: string | undefined;
  do {
    const { data } = await call(options, name, { ...input, after }, callOptions);
    const page = (data ?? {}) as Readonly<Record<string, unknown>>;
    const { [items]: found, next } = page;
    if (!Array.isArray(found)) {
      throw new ClientError("CLIENT_UNEXPECTED_ANSWER", `the page has no list "${items}"`);
    }
    yield* found as Operations[Name]["item"][];
    after = typeof next === "string" ? next : undefined;
  } while (after !== undefined);
}
