import { setTimeout as delay } from "node:timers/promises";
import {
  AuthService,
  CompactionRequest,
  KVService,
  MaintenanceService,
  type RangeRequest,
  type RangeResponse,
  type ResponseHeader,
  StatusRequest,
  type StatusResponse,
  type TxnRequest,
  type TxnResponse,
  WatchService,
} from "@stackwright/proto/etcd";
import {
  type ChannelTls,
  createClient,
  openChannel,
  type RpcCallOptions,
  type RpcChannel,
  type RpcClient,
} from "@stackwright/proto/grpc";
import { StorageError } from "../../errors.ts";
import { readFailure } from "./rpc-failure.ts";

/** How the engine reaches a cluster. */
interface EtcdClientOptions {
  /** URLs of members, `http://host:port` or `https://host:port`. */
  readonly endpoints: readonly string[];
  /** Trusted authorities and the client's identity, for `https` endpoints. */
  readonly tls?: ChannelTls;
  /** For clusters with authentication by name. */
  readonly credentials?: { readonly name: string; readonly password: string };
  readonly timeoutMs: number;
}

/** One member as this client sees it. */
interface Member {
  readonly url: string;
  readonly channel: RpcChannel;
  readonly kv: RpcClient<typeof KVService>;
  readonly watch: RpcClient<typeof WatchService>;
  readonly auth: RpcClient<typeof AuthService>;
  readonly maintenance: RpcClient<typeof MaintenanceService>;
}

interface Answer {
  readonly header: ResponseHeader | undefined;
}

// All calls go to one member until it fails, then to the next. Every call has a deadline. Reads, and
// what was certainly not begun, are tried again elsewhere while there is time; a write whose fate is
// not known is not.

/** Calls to an etcd cluster. */
export class EtcdClient {
  readonly #options: EtcdClientOptions;
  readonly #members: readonly Member[];
  #current = 0;
  #token: string | undefined;
  #authenticating: Promise<void> | undefined;
  #clusterId: bigint | undefined;
  /** The highest revision of any answer. */
  #revision = 0n;

  constructor(options: EtcdClientOptions) {
    if (options.endpoints.length === 0) {
      throw new StorageError("STORAGE_INVALID_ARGUMENT", "an etcd store needs an endpoint", {
        details: { field: "endpoints" },
      });
    }
    this.#options = options;
    this.#members = options.endpoints.map((url) => openMember(url, options.tls));
  }

  /** The member that is used at the moment. */
  get member(): Member {
    return this.#members[this.#current] as Member;
  }

  /** Of the cluster; known after the first answer. */
  get clusterId(): bigint {
    return this.#clusterId ?? 0n;
  }

  /** The versions of the members that answer. */
  async versions(): Promise<readonly string[]> {
    return (await this.#statuses()).map(({ version }) => version);
  }

  /** Bytes of the databases of the members that answer: of the file, in use, and at most (0: not said). */
  async databases(): Promise<
    readonly { readonly size: number; readonly used: number; readonly quota: number }[]
  > {
    return (await this.#statuses()).map(({ dbSize, dbSizeInUse, dbSizeQuota }) => ({
      size: Number(dbSize),
      used: Number(dbSizeInUse),
      quota: Number(dbSizeQuota),
    }));
  }

  range(request: RangeRequest): Promise<RangeResponse> {
    return this.#call("read", (member, options) => member.kv.range(request, options));
  }

  txn(
    request: TxnRequest,
    kind: "read" | "write" = "write",
    timeoutMs = this.#options.timeoutMs,
  ): Promise<TxnResponse> {
    return this.#call(kind, (member, options) => member.kv.txn(request, options), timeoutMs);
  }

  async compact(revision: bigint): Promise<void> {
    const request = CompactionRequest.create({ revision, physical: true });
    await this.#call("read", (member, options) => member.kv.compact(request, options));
  }

  /**
   * Metadata that a stream is opened with. A member that loses its leader, as one that is cut off the others does, ends the stream within
   * four times its election timeout. Without `hasleader` it would keep it open in silence, while the others commit.
   */
  async streamMetadata(): Promise<Record<string, string>> {
    await this.#authenticate(this.member);
    const metadata = { hasleader: "true" };
    return this.#token === undefined ? metadata : { ...metadata, token: this.#token };
  }

  /** Switches to another member if `member` is still the one in use. */
  leave(member: Member): void {
    if (this.member !== member) return;
    this.#current = (this.#current + 1) % this.#members.length;
  }

  /** Has the next call authenticate again. */
  dropToken(): void {
    this.#token = undefined;
  }

  /** Checks that an answer is of the cluster that the first one was of. */
  checkHeader(header: ResponseHeader | undefined, atLeast = 0n): void {
    if (header === undefined) return;
    this.#clusterId ??= header.clusterId;
    if (header.clusterId !== this.#clusterId) {
      throw new StorageError("STORAGE_INCONSISTENT", "the answer is of another cluster");
    }
    if (header.revision < atLeast) {
      throw new StorageError("STORAGE_INCONSISTENT", "the cluster has lost revisions");
    }
    if (header.revision > this.#revision) this.#revision = header.revision;
  }

  async close(): Promise<void> {
    await Promise.all(this.#members.map((member) => member.channel.close()));
  }

  async #call<T extends Answer>(
    kind: "read" | "write",
    call: (member: Member, options: RpcCallOptions) => Promise<T>,
    timeoutMs = this.#options.timeoutMs,
  ): Promise<T> {
    const end = performance.now() + timeoutMs;
    for (let attempt = 1; ; attempt += 1) {
      const { member } = this;
      const seen = this.#revision;
      const left = end - performance.now();
      try {
        if (this.#options.credentials !== undefined) await this.#authenticate(member);
        // A read leaves time for another member; a write whose answer is late is lost anyway.
        const share = kind === "read" ? Math.min(left, Math.max(timeoutMs / 3, 100)) : left;
        const answer = await call(member, this.#callOptions(share));
        this.checkHeader(answer.header, seen);
        return answer;
      } catch (thrown) {
        const failure = readFailure(thrown, kind);
        if (failure.unauthenticated) this.dropToken();
        if (failure.elsewhere) this.leave(member);
        const again = failure.unauthenticated ? attempt < 3 : failure.elsewhere;
        const pause = Math.min(10 * 2 ** attempt, 250);
        const time = end - performance.now() > pause;
        if (!again || !time || (kind === "write" && !failure.untouched)) throw failure.error;
        await delay(pause);
      }
    }
  }

  async #statuses(): Promise<readonly StatusResponse[]> {
    const request = StatusRequest.create({});
    const statuses = await Promise.all(
      this.#members.map(async (member) => {
        await this.#authenticate(member).catch(() => undefined);
        const options = this.#callOptions(this.#options.timeoutMs);
        return member.maintenance.status(request, options).catch(() => undefined);
      }),
    );
    return statuses.filter((status) => status !== undefined);
  }

  #callOptions(timeoutMs: number): RpcCallOptions {
    const metadata = this.#token === undefined ? {} : { token: this.#token };
    return { timeoutMs: Math.max(1, Math.ceil(timeoutMs)), metadata };
  }

  async #authenticate(member: Member): Promise<void> {
    const { credentials, timeoutMs } = this.#options;
    if (credentials === undefined || this.#token !== undefined) return;
    const authenticate = async (): Promise<void> => {
      const { token } = await member.auth.authenticate(credentials, { timeoutMs });
      this.#token = token;
    };
    this.#authenticating ??= authenticate().finally(() => {
      this.#authenticating = undefined;
    });
    await this.#authenticating;
  }
}

function openMember(endpoint: string, tls: ChannelTls | undefined): Member {
  const { protocol, hostname, port } = parseEndpoint(endpoint);
  const channel = openChannel(
    { host: hostname.replace(/^\[|\]$/g, ""), port },
    {
      ...(protocol === "https:" ? { tls: tls ?? {} } : {}),
      options: {
        // The shortest interval that etcd allows by default is 5 seconds.
        "grpc.keepalive_time_ms": 10_000,
        "grpc.keepalive_timeout_ms": 5_000,
        "grpc.initial_reconnect_backoff_ms": 100,
        "grpc.max_reconnect_backoff_ms": 1_000,
      },
    },
  );
  return {
    url: endpoint,
    channel,
    kv: createClient(KVService, channel),
    watch: createClient(WatchService, channel),
    auth: createClient(AuthService, channel),
    maintenance: createClient(MaintenanceService, channel),
  };
}

function parseEndpoint(endpoint: string): { protocol: string; hostname: string; port: number } {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (url === undefined || !["http:", "https:"].includes(url.protocol) || url.port === "") {
    throw new StorageError(
      "STORAGE_INVALID_ARGUMENT",
      `"${endpoint}" is not http://host:port or https://host:port`,
      { details: { field: "endpoints" } },
    );
  }
  return { protocol: url.protocol, hostname: url.hostname, port: Number(url.port) };
}
