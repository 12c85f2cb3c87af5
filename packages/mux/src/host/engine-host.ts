import { implementService, type RpcAddress, RpcError, startServer } from "@stackwright/proto/grpc";
import { HealthCheckResponse_ServingStatus, HealthService } from "@stackwright/proto/health";
import {
  EngineService,
  type LogRequest,
  type StartDebuggingRequest,
} from "@stackwright/proto/pulumirpc";
import type { HostLogEntry, HostLogSeverity } from "../host-client.ts";
import { SEVERITIES } from "./engine-client.ts";

export interface EngineHostOptions {
  /** Is given what providers log. @default drops it */
  readonly onLog?: (entry: HostLogEntry) => void;
  /** URN of the stack's root resource. @default none yet */
  readonly rootResource?: string;
  /** Whether a range of Pulumi versions that a provider asks for is satisfied. @default every range is */
  readonly acceptsVersion?: (range: string) => boolean;
  /** Called when a debugger may attach to a provider. @default UNIMPLEMENTED */
  readonly onDebugging?: (request: StartDebuggingRequest) => void;
  /** Where to listen. @default a free port of 127.0.0.1 */
  readonly address?: { readonly host: string; readonly port: number };
}

/** The service that providers call back, while it is listening. */
export interface EngineHost extends AsyncDisposable {
  /** `host:port`, as providers get it as an argument and in Attach. */
  readonly address: string;
  /** URN of the stack's root resource, as it was given or last set; empty for none. */
  readonly rootResource: string;
  close(): Promise<void>;
}

/**
 * Serves the Engine service of Pulumi's protocol, and a health service by which providers see that their engine is
 * gone. Rejects with an `RpcError` UNAVAILABLE when it cannot listen.
 */
export async function startEngineHost(options: EngineHostOptions = {}): Promise<EngineHost> {
  let rootResource = options.rootResource ?? "";
  const engine = implementService(EngineService, {
    log(request) {
      options.onLog?.(toEntry(request));
      return {};
    },
    getRootResource: () => ({ urn: rootResource }),
    setRootResource({ urn }) {
      rootResource = urn;
      return {};
    },
    startDebugging(request) {
      const { onDebugging } = options;
      if (onDebugging === undefined)
        throw new RpcError("UNIMPLEMENTED", "waiting for a debugger is not supported");
      onDebugging(request);
      return {};
    },
    requirePulumiVersion({ pulumiVersionRange }) {
      if (options.acceptsVersion?.(pulumiVersionRange) === false) {
        const text = `a Pulumi version ${pulumiVersionRange} is needed`;
        throw new RpcError("FAILED_PRECONDITION", text);
      }
      return {};
    },
  });
  const health = implementService(HealthService, {
    check: () => ({ status: HealthCheckResponse_ServingStatus.SERVING }),
  });
  const server = await startServer({
    services: [engine, health],
    ...(options.address && { address: options.address }),
  });
  return {
    address: formatAddress(server.address),
    get rootResource() {
      return rootResource;
    },
    close: () => server.close(),
    [Symbol.asyncDispose]: () => server.close(),
  };
}

function formatAddress(address: RpcAddress): string {
  return "socketPath" in address ? `unix:${address.socketPath}` : `${address.host}:${address.port}`;
}

function toEntry({ severity, message, urn, streamId, ephemeral }: LogRequest): HostLogEntry {
  const found = Object.entries(SEVERITIES).find(([, number]) => number === severity)?.[0];
  return {
    severity: (found as HostLogSeverity | undefined) ?? "info",
    message,
    ...(urn !== "" && { urn }),
    ...(streamId !== 0 && { streamId }),
    ...(ephemeral && { ephemeral }),
  };
}
