import { hostname } from "node:os";
import { type Clock, sleep } from "@stackwright/base/clock";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { type Fetch, hostServices, isRecord, type LoginHost } from "./host-services.ts";

const GRANT = "urn:ietf:params:oauth:grant-type:device_code";
const REQUEST_MS = 30_000;
/** Between two questions, where the host does not say. */
const PAUSE_S = 5;
const LONGEST_PAUSE_S = 60;
const LONGEST_S = 3_600;
/** Characters of an address that is typed, or copied. */
const LONGEST_PAGE = 500;

/** What a host offers under `device.v1`. */
interface DeviceService {
  readonly client: string;
  readonly code: URL;
  readonly token: URL;
}

interface DeviceLoginOptions {
  /** The most that the token may do. @default all that the user may */
  readonly role?: string | undefined;
  readonly clock: Clock;
  readonly fetch: Fetch;
}

/** Whether a host gives tokens to commands on machines without a browser. */
export async function offersDeviceLogin(
  host: LoginHost,
  context: CommandContext,
  fetch: Fetch,
): Promise<boolean> {
  const { services } = await hostServices(host, context, fetch);
  return services["device.v1"] !== undefined;
}

/** A token that a host gives once the user typed a code, and agreed, on another machine. */
export async function loginByDevice(
  host: LoginHost,
  context: CommandContext,
  options: DeviceLoginOptions,
): Promise<string> {
  const { terminal } = context;
  const { role, clock, fetch } = options;
  const service = await discover(host, context, fetch);
  const asked = await post(service.code, context, fetch, {
    client_id: service.client,
    host: hostname(),
    ...(role !== undefined && { scope: role }),
  });
  const { device_code: code, user_code: shown, verification_uri: page } = asked.json;
  const address = pageOf(page);
  const isComplete =
    typeof code === "string" &&
    typeof shown === "string" &&
    /^[\w-]{4,32}$/.test(shown) &&
    address !== undefined;
  if (!isComplete) throw refusalOf(host.name, asked);
  const lastsS = secondsOf(asked.json["expires_in"], 600, LONGEST_S);
  const endsMs = clock.monotonicMs() + lastsS * 1_000;
  // A host could pass the code of another one on, whose page looks as it should, and keep the token.
  if (address.host !== new URL(host.address).host) {
    terminal.writeError(
      `Warning: the address is not one of ${host.name}, which gets the token. Agree there only if both are one server.\n`,
    );
  }
  terminal.write(
    `Open this address in a browser of any machine, and type the code to log in to ${host.name}:\n\n` +
      `  ${address.href}\n  ${shown}\n\nWaiting until you agree, for ${Math.ceil(lastsS / 60)} minutes at most.\n`,
  );
  const form = { client_id: service.client, grant_type: GRANT, device_code: code };
  let pauseS = secondsOf(asked.json["interval"], PAUSE_S, LONGEST_PAUSE_S);
  for (;;) {
    await sleep(clock, pauseS * 1_000, context.signal);
    if (clock.monotonicMs() >= endsMs) throw over();
    const answer = await post(service.token, context, fetch, form).catch((): Answer => {
      context.signal.throwIfAborted();
      // The host may be there again before the code is over.
      return { status: 503, json: {} };
    });
    const token = answer.json["access_token"];
    if (answer.status === 200 && typeof token === "string" && token !== "") return token;
    const error = answer.json["error"];
    if (error === "authorization_pending") continue;
    if (error === "slow_down" || answer.status >= 500) {
      pauseS = Math.min(LONGEST_PAUSE_S, pauseS + PAUSE_S);
      continue;
    }
    if (error === "access_denied") throw new CommandError("The login was refused.");
    if (error === "expired_token" || error === "invalid_grant") throw over();
    throw refusalOf(host.name, answer);
  }
}

async function discover(
  host: LoginHost,
  context: CommandContext,
  fetch: Fetch,
): Promise<DeviceService> {
  const { services, document } = await hostServices(host, context, fetch);
  const service = services["device.v1"];
  if (!isRecord(service)) {
    throw new CommandError(`${host.name} does not offer a login with a code.`, {
      advice:
        "It needs a server with a sign-in of users. Pass a token on standard input: stackwright login --server URL < FILE",
    });
  }
  const { client, code, token } = service;
  if (typeof client !== "string" || typeof code !== "string" || typeof token !== "string") {
    throw new CommandError(`The login service of ${host.name} is not complete.`);
  }
  const urls = { code: URL.parse(code, document.href), token: URL.parse(token, document.href) };
  const isOfHost = (url: URL | null): url is URL => url?.origin === document.origin;
  if (!isOfHost(urls.code) || !isOfHost(urls.token)) {
    throw new CommandError(`The login service of ${host.name} is not at ${document.origin}.`);
  }
  return { client, code: urls.code, token: urls.token };
}

/** An address for a browser, which shows the host that it leads to. */
function pageOf(text: unknown): URL | undefined {
  const url = typeof text === "string" && text.length <= LONGEST_PAGE ? URL.parse(text) : null;
  const isPage =
    url !== null && /^https?:$/.test(url.protocol) && url.username + url.password === "";
  return isPage ? url : undefined;
}

interface Answer {
  readonly status: number;
  readonly json: Readonly<Record<string, unknown>>;
}

/** An answer with what it says, where it is JSON. */
async function post(
  url: URL,
  { signal }: CommandContext,
  fetch: Fetch,
  form: Readonly<Record<string, string>>,
): Promise<Answer> {
  const response = await fetch(url, {
    method: "POST",
    body: new URLSearchParams(form),
    redirect: "error",
    signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_MS)]),
  });
  const text = await response.text();
  try {
    const value: unknown = JSON.parse(text);
    return { status: response.status, json: isRecord(value) ? value : {} };
  } catch {
    return { status: response.status, json: {} };
  }
}

function refusalOf(name: string, { status, json }: Answer): CommandError {
  if (json["error"] === "invalid_scope") {
    return new CommandError(`${name} does not know the role.`, {
      advice: "Use viewer, planner, operator, publisher or admin.",
    });
  }
  if (status === 429 || status === 503) {
    return new CommandError(`${name} has too many logins that wait for their users.`, {
      advice: "Try again in some minutes.",
    });
  }
  return new CommandError(`${name} did not begin a login with a code: status ${status}.`);
}

function over(): CommandError {
  return new CommandError("The code is over, and no user agreed in time.", {
    advice: "Start the login again.",
  });
}

function secondsOf(value: unknown, otherwise: number, most: number): number {
  return typeof value === "number" && value >= 1 ? Math.min(value, most) : otherwise;
}
