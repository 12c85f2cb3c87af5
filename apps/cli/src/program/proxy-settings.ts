import { BlockList, isIP } from "node:net";
import { CommandError } from "../command-error.ts";
import { printable } from "../terminal/printable.ts";

/** The proxies of an environment. */
interface ProxySettings {
  /** For addresses that begin with `http:`. */
  readonly http: string | undefined;
  /** For addresses that begin with `https:`. */
  readonly https: string | undefined;
  /** The names of `NO_PROXY`, as Node reads them. */
  readonly names: string;
  readonly direct: readonly DirectHost[];
}

/** An entry of `NO_PROXY`. */
type DirectHost =
  | { readonly kind: "all" }
  | { readonly kind: "network"; readonly network: BlockList }
  | {
      readonly kind: "name";
      readonly name: string;
      readonly subdomainsOnly: boolean;
      readonly port: string | undefined;
    };

/** The variables of proxies as programs in Go read them; undefined without a proxy. `CommandError` for one that is not a valid address. */
export function parseProxies(env: NodeJS.ProcessEnv): ProxySettings | undefined {
  const http = proxyOf(env, "HTTP_PROXY", "http_proxy");
  const https = proxyOf(env, "HTTPS_PROXY", "https_proxy");
  if (http === undefined && https === undefined) return undefined;
  const entries = (env["NO_PROXY"] || env["no_proxy"] || "")
    .split(",")
    .map((entry) => entry.trim().toLowerCase())
    .filter((entry) => entry !== "");
  return {
    http,
    https,
    names: ["localhost", "127.0.0.1", "[::1]", ...entries.flatMap(namesOf)].join(","),
    direct: entries.map(directHost),
  };
}

/** Whether requests to an origin such as `https://example.com` go without a proxy. Those to this machine always do. */
export function bypassesProxy({ direct }: ProxySettings, origin: string): boolean {
  if (!URL.canParse(origin)) return false;
  const { hostname, port, protocol } = new URL(origin);
  const host = hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");
  const family = isIP(host) === 6 ? "ipv6" : "ipv4";
  const isAddress = isIP(host) !== 0;
  if (host === "localhost" || (isAddress && LOOPBACK.check(host, family))) return true;
  const usedPort = port || (protocol === "https:" ? "443" : "80");
  return direct.some((entry) => {
    if (entry.kind === "all") return true;
    if (entry.kind === "network") return isAddress && entry.network.check(host, family);
    if (entry.port !== undefined && entry.port !== usedPort) return false;
    const isSame = host === entry.name && !entry.subdomainsOnly;
    return isSame || (!isAddress && host.endsWith(`.${entry.name}`));
  });
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet("127.0.0.0", 8, "ipv4");
LOOPBACK.addAddress("::1", "ipv6");

function proxyOf(env: NodeJS.ProcessEnv, ...names: readonly string[]): string | undefined {
  for (const name of names) {
    const text = env[name];
    if (text === undefined || text === "") continue;
    const address = text.includes("://") ? text : `http://${text}`;
    const protocol = URL.canParse(address) ? new URL(address).protocol : undefined;
    if (protocol === "http:" || protocol === "https:") return address;
    // The address may hold a password.
    const why = protocol === undefined ? "" : `: it begins with ${protocol}//`;
    throw new CommandError(`The proxy of ${name} is not a valid address${printable(why)}.`, {
      advice: "Write http://HOST:PORT or https://HOST:PORT, or unset the variable.",
    });
  }
  return undefined;
}

function directHost(entry: string): DirectHost {
  if (entry === "*") return { kind: "all" };
  const [address = "", bits] = entry.split("/");
  const family = isIP(address) === 6 ? "ipv6" : "ipv4";
  if (bits !== undefined && isIP(address) !== 0 && /^\d{1,3}$/.test(bits)) {
    const network = new BlockList();
    const length = Math.min(Number(bits), family === "ipv6" ? 128 : 32);
    network.addSubnet(address, length, family);
    return { kind: "network", network };
  }
  const [, bracketed, port] = /^\[(.+)\](?::(\d+))?$/.exec(entry) ?? [];
  if (bracketed !== undefined) {
    return { kind: "name", name: bracketed, subdomainsOnly: false, port };
  }
  if (isIP(entry) === 6)
    return { kind: "name", name: entry, subdomainsOnly: false, port: undefined };
  const [, name = entry, namePort] = /^(.*?)(?::(\d+))?$/.exec(entry) ?? [];
  const bare = name.replace(/^\*?\./, "").replace(/\.$/, "");
  return {
    kind: "name",
    name: bare,
    subdomainsOnly: bare !== name.replace(/\.$/, ""),
    port: namePort,
  };
}

/** The forms in which Node takes a name with all that end with it. Networks it does not take. */
function namesOf(entry: string): readonly string[] {
  if (entry === "*") return ["*"];
  if (entry.includes("/")) return [];
  return /^\*?\./.test(entry) ? [entry.replace(/^\*/, "")] : [entry, `.${entry}`];
}
