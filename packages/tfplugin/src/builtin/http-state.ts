import { setTimeout as delay } from "node:timers/promises";
import { Type } from "@stackwright/cty";
import {
  DEFAULT_WORKSPACE,
  type RemoteStateBackend,
  type RemoteStateBackendSettings,
  textSetting,
} from "./remote-state-backend.ts";

export interface HttpStateOptions {
  /**
   * Variables that give settings which the template leaves out: `TF_HTTP_ADDRESS` and the like.
   * @default none
   */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Longest state that is read. @default 256 MiB */
  readonly maxBytes?: number;
  /** Whether redirects to other hosts are followed: they may lead to servers that the reader alone reaches. @default true */
  readonly followsToOtherHosts?: boolean;
  /** Waits between attempts. @default a timer */
  readonly delay?: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
}

interface ResolvedHttpStateOptions {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly maxBytes: number;
  readonly followsToOtherHosts: boolean;
  readonly delay: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
}

/** The settings of the `http` backend; those for writing and locking are accepted and not used. */
const SETTINGS = new Map<string, Type>([
  ["address", Type.string],
  ["update_method", Type.string],
  ["lock_address", Type.string],
  ["lock_method", Type.string],
  ["unlock_address", Type.string],
  ["unlock_method", Type.string],
  ["username", Type.string],
  ["password", Type.string],
  ["skip_cert_verification", Type.bool],
  ["retry_max", Type.number],
  ["retry_wait_min", Type.number],
  ["retry_wait_max", Type.number],
  ["client_ca_certificate_pem", Type.string],
  ["client_certificate_pem", Type.string],
  ["client_private_key_pem", Type.string],
]);

const MAX_REDIRECTS = 10;

/**
 * A state behind a URL: `GET address`, where 404, 204 and an empty body mean that there is none. Failed connections and
 * answers of 500 and above are tried again, `retry_max` times. It has the default workspace only.
 */
export function httpStateBackend(options: HttpStateOptions = {}): RemoteStateBackend {
  const resolved: ResolvedHttpStateOptions = {
    environment: options.environment ?? {},
    maxBytes: options.maxBytes ?? 256 * 1024 * 1024,
    followsToOtherHosts: options.followsToOtherHosts ?? true,
    delay: options.delay ?? (async (ms, signal) => delay(ms, undefined, signal && { signal })),
  };
  return {
    type: "http",
    settings: new Map([...SETTINGS].map(([name, type]) => [name, { type, required: false }])),
    check: (settings) => {
      const { address, certificate, key } = new Settings(settings, resolved.environment);
      if (address === undefined) return "address is required";
      if (parseAddress(address) === undefined) return "address must be an http or https URL";
      if ((certificate === undefined) !== (key === undefined)) {
        return "client_certificate_pem and client_private_key_pem are given together or not at all";
      }
      return undefined;
    },
    read: async (settings, workspace, { signal }) => {
      if (workspace !== DEFAULT_WORKSPACE) throw new Error("the http backend has no workspaces");
      return fetchState(new Settings(settings, resolved.environment), resolved, signal);
    },
  };
}

/** The settings of one configuration, with the environment behind them. */
class Settings {
  readonly #given: RemoteStateBackendSettings;
  readonly #environment: Readonly<Record<string, string | undefined>>;

  constructor(given: RemoteStateBackendSettings, environment: HttpStateOptions["environment"]) {
    this.#given = given;
    this.#environment = environment ?? {};
  }

  get address(): string | undefined {
    return this.#text("address");
  }
  get ca(): string | undefined {
    return this.#text("client_ca_certificate_pem");
  }
  get certificate(): string | undefined {
    return this.#text("client_certificate_pem");
  }
  get key(): string | undefined {
    return this.#text("client_private_key_pem");
  }
  get skipsVerification(): boolean {
    return this.#value("skip_cert_verification")?.asBoolean() ?? false;
  }
  get retryMax(): number {
    return this.#number("retry_max", 2);
  }
  get retryWaitMin(): number {
    return this.#number("retry_wait_min", 1);
  }
  get retryWaitMax(): number {
    return this.#number("retry_wait_max", 30);
  }

  get authorization(): string | undefined {
    const user = this.#text("username");
    if (user === undefined) return undefined;
    const secret = `${user}:${this.#text("password") ?? ""}`;
    return `Basic ${Buffer.from(secret).toString("base64")}`;
  }

  #value(name: string) {
    const value = this.#given.get(name);
    return value === undefined || value.isNull ? undefined : value;
  }

  #text(name: string): string | undefined {
    const text = textSetting(this.#given, name) ?? this.#fromEnvironment(name);
    return text === "" ? undefined : text;
  }

  #number(name: string, fallback: number): number {
    const given = this.#value(name)?.asNumber();
    if (given !== undefined) return given;
    const text = this.#fromEnvironment(name);
    const number = text === undefined ? Number.NaN : Number(text);
    return Number.isFinite(number) ? number : fallback;
  }

  #fromEnvironment(name: string): string | undefined {
    return this.#environment[`TF_HTTP_${name.toUpperCase()}`];
  }
}

function parseAddress(address: string): URL | undefined {
  const url = URL.parse(address);
  return url?.protocol === "http:" || url?.protocol === "https:" ? url : undefined;
}

interface Answer {
  readonly status: number;
  readonly location: string | undefined;
  readonly body: Uint8Array;
}

async function fetchState(
  settings: Settings,
  options: ResolvedHttpStateOptions,
  signal: AbortSignal | undefined,
): Promise<Uint8Array | undefined> {
  const url = parseAddress(settings.address ?? "");
  if (url === undefined) throw new Error("address must be an http or https URL");
  for (let attempt = 0; ; attempt += 1) {
    const last = attempt >= settings.retryMax;
    const answer = await followRedirects(url, settings, options, signal).catch((error: unknown) => {
      signal?.throwIfAborted();
      if (last || error instanceof UnusableAnswer) throw error;
      return undefined;
    });
    if (answer !== undefined && (answer.status < 500 || last)) return stateOf(answer);
    const wait = Math.min(settings.retryWaitMin * 2 ** attempt, settings.retryWaitMax);
    await options.delay(wait * 1000, signal);
  }
}

function stateOf({ status, body }: Answer): Uint8Array | undefined {
  if (status === 404 || status === 204) return undefined;
  if (status === 200) return body.length === 0 ? undefined : body;
  if (status === 401) throw new Error("the server asks for credentials (401)");
  if (status === 403) throw new Error("the server refuses the credentials (403)");
  throw new Error(`the server answered with status ${status}`);
}

/** An answer that another attempt would not make better. */
class UnusableAnswer extends Error {}

async function followRedirects(
  start: URL,
  settings: Settings,
  options: ResolvedHttpStateOptions,
  signal: AbortSignal | undefined,
): Promise<Answer> {
  let url = start;
  for (let count = 0; count <= MAX_REDIRECTS; count += 1) {
    // The credentials are for the configured host, regardless of its answers.
    const authorization = url.origin === start.origin ? settings.authorization : undefined;
    const answer = await get(url, authorization, settings, options, signal);
    if (answer.status < 300 || answer.status > 399 || answer.location === undefined) return answer;
    const next = parseAddress(new URL(answer.location, url).href);
    if (next === undefined) throw new UnusableAnswer("redirected to an address that is not HTTP");
    if (next.hostname !== start.hostname && !options.followsToOtherHosts) {
      throw new UnusableAnswer(
        `redirected to another host, ${next.hostname}, which a run on a server does not follow; give its address`,
      );
    }
    url = next;
  }
  throw new UnusableAnswer(`more than ${MAX_REDIRECTS} redirects`);
}

async function get(
  url: URL,
  authorization: string | undefined,
  settings: Settings,
  { maxBytes }: ResolvedHttpStateOptions,
  signal: AbortSignal | undefined,
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const { ca, certificate: cert, key } = settings;
  // Loaded by few commands, and expensive: importing node:http loads all that fetch is made of.
  const { request } = await (url.protocol === "https:"
    ? import("node:https")
    : import("node:http"));
  signal?.throwIfAborted();
  const sent = request(
    url,
    {
      method: "GET",
      agent: false,
      headers: {
        accept: "application/json",
        ...(authorization !== undefined && { authorization }),
      },
      ...(signal && { signal }),
      ...(ca !== undefined && { ca }),
      ...(cert !== undefined && { cert }),
      ...(key !== undefined && { key }),
      ...(settings.skipsVerification && { rejectUnauthorized: false }),
    },
    (response) => {
      const chunks: Buffer[] = [];
      let size = 0;
      response.on("data", (chunk: Buffer) => {
        size += chunk.length;
        if (size > maxBytes) {
          sent.destroy(new UnusableAnswer(`the state is larger than ${maxBytes} bytes`));
        } else chunks.push(chunk);
      });
      response.on("error", reject);
      response.on("end", () => {
        resolve({
          status: response.statusCode ?? 0,
          location: response.headers.location,
          body: Buffer.concat(chunks),
        });
      });
    },
  );
  sent.on("error", reject);
  sent.end();
  return promise;
}
