import { connect, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { JobStore } from "./execution-job.ts";

const CONNECT_MS = 3_000;

/** Connects to a storage service, for others that speak with it. Rejects where there is none within three seconds. */
export async function connectStore({ address, tls }: Omit<JobStore, "token">): Promise<Socket> {
  const place =
    "socketPath" in address ? address.socketPath : `${address.host}:${String(address.port)}`;
  const at =
    "socketPath" in address ? { path: address.socketPath } : { ...address, keepAlive: true };
  const host = "socketPath" in address ? "" : address.host;
  const upstream =
    tls === undefined
      ? connect(at)
      : connectTls({
          ...at,
          ALPNProtocols: ["h2"],
          ...(isIP(host) === 0 && host !== "" && { servername: host }),
          ...(tls.trusted !== undefined && { ca: tls.trusted }),
        });
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => upstream.destroy(new Error(`no connection to ${place} in ${CONNECT_MS} ms`)),
      CONNECT_MS,
    );
    upstream.once(tls === undefined ? "connect" : "secureConnect", () => {
      clearTimeout(timer);
      upstream.setNoDelay(true);
      resolve(upstream);
    });
    upstream.on("error", (error) => {
      clearTimeout(timer);
      reject(error);
    });
  });
}
