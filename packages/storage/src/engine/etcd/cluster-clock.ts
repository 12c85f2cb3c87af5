import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { ChannelTls } from "@stackwright/proto/grpc";

/** A clock that all processes that use a cluster share, to some seconds. */
export interface ClusterClock {
  /** Milliseconds since 1970. */
  now(): number;
}

/** Below this difference a clock counts as right. Members say their time in whole seconds. */
const TOLERATED_MS = 3_000;
const TIMEOUT_MS = 3_000;

/**
 * Opens the clock of a cluster: that of this machine, corrected by its difference to the first member that says its
 * time, if that is more than some seconds. Later changes of this machine's clock have no effect. Where no member
 * answers HTTP on its address (`--listen-client-http-urls`), it is the clock of this machine.
 */
export async function openClusterClock(
  endpoints: readonly string[],
  tls: ChannelTls | undefined,
): Promise<ClusterClock> {
  let offset = 0;
  for (const endpoint of endpoints) {
    const before = Date.now();
    const time = await timeOf(endpoint, tls).catch(() => undefined);
    if (time === undefined || Number.isNaN(time)) continue;
    const difference = time - (before + Date.now()) / 2;
    if (Math.abs(difference) > TOLERATED_MS) offset = difference;
    break;
  }
  const start = Date.now() + offset - performance.now();
  return { now: () => start + performance.now() };
}

async function timeOf(endpoint: string, tls: ChannelTls | undefined): Promise<number> {
  const url = new URL("/version", endpoint);
  const options = {
    timeout: TIMEOUT_MS,
    signal: AbortSignal.timeout(TIMEOUT_MS),
    agent: false,
    ...(tls?.trusted !== undefined && { ca: Buffer.from(tls.trusted) }),
    ...(tls?.identity !== undefined && {
      cert: Buffer.from(tls.identity.certificate),
      key: Buffer.from(tls.identity.privateKey),
    }),
    ...(tls?.serverName !== undefined && { servername: tls.serverName }),
  };
  return new Promise((resolve, reject) => {
    const send = url.protocol === "https:" ? requestHttps : requestHttp;
    const request = send(url, options, (answer) => {
      answer.resume();
      resolve(Date.parse(answer.headers.date ?? ""));
    });
    request.on("error", reject);
    request.end();
  });
}
