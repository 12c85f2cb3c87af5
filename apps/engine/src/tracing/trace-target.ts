import { EngineError } from "@stackwright/core/errors";

/** The environment variable with headers for the collector, as OpenTelemetry names it. */
const HEADERS = "OTEL_EXPORTER_OTLP_HEADERS";
const PATH = "/v1/traces";

/** The collector that traces are sent to. */
export interface TraceTarget {
  readonly url: string;
  /** What it is called with: credentials may be among them. */
  readonly headers: Readonly<Record<string, string>>;
}

/** The collector that an option names; `ENGINE_CONFIG_INVALID` for an address that is none. */
export function traceTargetOf(endpoint: string, env: NodeJS.ProcessEnv): TraceTarget {
  const url = URL.parse(endpoint);
  if (url === null || !["http:", "https:"].includes(url.protocol)) {
    throw invalid("--otlp-endpoint takes an address of HTTP, such as http://localhost:4318");
  }
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    throw invalid(`--otlp-endpoint takes no credentials and no query; set ${HEADERS} for them`);
  }
  const base = url.href.replace(/\/+$/, "");
  return {
    url: base.endsWith(PATH) ? base : `${base}${PATH}`,
    headers: headersOf(env[HEADERS] ?? ""),
  };
}

/** `name=value` with commas between; values are percent-encoded. */
function headersOf(text: string): Readonly<Record<string, string>> {
  const pairs = text.split(",").filter((pair) => pair.trim() !== "");
  const entries = pairs.map((pair): [string, string] => {
    const at = pair.indexOf("=");
    const name = pair.slice(0, at).trim().toLowerCase();
    if (at < 1 || !/^[a-z0-9!#$%&'*+.^_`|~-]+$/.test(name)) {
      throw invalid(`${HEADERS} consists of NAME=VALUE, with commas between`);
    }
    return [name, decoded(pair.slice(at + 1).trim())];
  });
  return Object.fromEntries(entries);
}

function decoded(text: string): string {
  try {
    const value = decodeURIComponent(text);
    if (/^[\x20-\x7e]*$/.test(value)) return value;
  } catch {
    // The same problem.
  }
  throw invalid(`a value of ${HEADERS} is not percent-encoded text of a header`);
}

function invalid(message: string): EngineError {
  return new EngineError("ENGINE_CONFIG_INVALID", message);
}
