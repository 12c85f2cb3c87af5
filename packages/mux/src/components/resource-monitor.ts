import { implementService, RpcError, startServer } from "@stackwright/proto/grpc";
import { HealthCheckResponse_ServingStatus, HealthService } from "@stackwright/proto/health";
import {
  decodeStruct,
  encodeStruct,
  mapProperty,
  type PropertyValue,
  stringProperty,
} from "@stackwright/proto/property";
import {
  ConstructRequest,
  InvokeRequest,
  ReadRequest,
  type RegisterResourceRequest,
  RegisterResourceResponse,
  ResourceInvokeResponse,
  ResourceMonitorService,
} from "@stackwright/proto/pulumirpc";
import type { ComponentCall } from "./component-peer.ts";
import type { ComponentRun } from "./component-run.ts";
import { childUrn } from "./component-urn.ts";
import { openMonitorPlace } from "./monitor-place.ts";

const EMPTY = encodeStruct(new Map());

/** What programs may rely on, by the names that they ask for. */
const FEATURES: ReadonlySet<string> = new Set(["secrets", "resourceReferences"]);

/** The service that a component's program registers its resources with, while it is listening. */
interface ResourceMonitor extends AsyncDisposable {
  /** `unix:PATH`, or on Windows `host:port`, as programs get it. */
  readonly address: string;
}

/**
 * Serves the ResourceMonitor service of Pulumi's protocol for one call, for this user alone. Whatever the program has made, looked up or
 * invoked goes to the provider of the call.
 */
export async function startResourceMonitor(
  call: ComponentCall,
  run: ComponentRun,
): Promise<ResourceMonitor> {
  const { peer, context } = call;
  let address = "";
  const construct = async (request: RegisterResourceRequest) => {
    const { urn, state } = await peer.provider.construct(
      ConstructRequest.create({
        ...runOf(call, address),
        type: request.type,
        name: request.name,
        parent: request.parent,
        inputs: request.object,
        ignoreChanges: request.ignoreChanges,
      }),
      context,
    );
    run.setOutputs(urn, decodeStruct(state ?? EMPTY));
    return RegisterResourceResponse.create({ urn, object: state });
  };
  const monitor = implementService(ResourceMonitorService, {
    getDeploymentInfo: () => {
      // Programs then ask for each feature by its name, older ones do nothing else.
      throw new RpcError("UNIMPLEMENTED", "ask for each feature by its name");
    },
    supportsFeature: ({ id }) => ({ hasSupport: FEATURES.has(id) }),
    registerResource: async (request) =>
      request.remote
        ? run.attempt(childUrn(request.parent, request.type, request.name), async () =>
            construct(request),
          )
        : run.register(request),
    registerResourceOutputs: ({ urn, outputs }) => {
      run.setOutputs(urn, decodeStruct(outputs ?? EMPTY));
      return {};
    },
    readResource: async ({ id, type, name, parent, properties }) => {
      const urn = childUrn(parent, type, name);
      const request = ReadRequest.create({ id, urn, properties: properties ?? EMPTY });
      const found = await peer.provider.read(request, context);
      if (found.id === "")
        throw new RpcError("NOT_FOUND", `there is no ${type} with the id "${id}"`);
      return { urn, properties: found.properties };
    },
    invoke: async ({ tok, args }) => {
      if (tok === "pulumi:pulumi:getResource") return lookUp(run, args ?? EMPTY);
      const reply = await peer.provider.invoke(InvokeRequest.create({ tok, args }), context);
      return ResourceInvokeResponse.create({ return: reply.return, failures: reply.failures });
    },
    call: () => {
      throw new RpcError("UNIMPLEMENTED", "methods cannot be called inside of components");
    },
    registerPackage: ({ name, version }) => ({ ref: `${name}@${version}` }),
    registerStackTransform: () => unsupported("transforms"),
    registerStackInvokeTransform: () => unsupported("transforms"),
    registerResourceHook: () => unsupported("hooks"),
    registerErrorHook: () => unsupported("hooks"),
    signalAndWaitForShutdown: () => ({}),
  });
  const health = implementService(HealthService, {
    check: () => ({ status: HealthCheckResponse_ServingStatus.SERVING }),
  });
  await using resources = new AsyncDisposableStack();
  const place = resources.use(await openMonitorPlace());
  address = await place.start(async (where) =>
    startServer({ services: [monitor, health], ...(where && { address: where }) }),
  );
  const owned = resources.move();
  return { address, [Symbol.asyncDispose]: async () => owned.disposeAsync() };
}

/** What requests that run a component's program have in common. */
export function runOf({ dryRun }: ComponentCall, monitorEndpoint: string) {
  return {
    project: "stackwright",
    stack: "stackwright",
    dryRun,
    parallel: 16,
    monitorEndpoint,
    acceptsOutputValues: true,
  };
}

/** What a program that has only the URN of a resource asks for. */
function lookUp(run: ComponentRun, args: Parameters<typeof decodeStruct>[0]) {
  const property = decodeStruct(args).get("urn");
  const urn = property?.kind === "string" ? property.value : "";
  const outputs = run.outputsOf(urn);
  if (outputs === undefined) throw new RpcError("NOT_FOUND", `there is no resource ${urn} here`);
  const id = outputs.get("id");
  const found = new Map<string, PropertyValue>([
    ["urn", stringProperty(urn)],
    ["id", id?.kind === "string" ? id : stringProperty("")],
    ["state", mapProperty(outputs)],
  ]);
  return ResourceInvokeResponse.create({ return: encodeStruct(found, { outputs: "strip" }) });
}

function unsupported(what: string): never {
  throw new RpcError("UNIMPLEMENTED", `${what} are not supported`);
}
