import { RpcError } from "@stackwright/proto/grpc";
import type { ResourceProvider } from "./resource-provider.ts";

/**
 * A provider that has no method at all: every call rejects with UNIMPLEMENTED. Spread it under the methods that an
 * adapter or a test does have.
 */
export function unimplementedProvider(): ResourceProvider {
  const missing = (name: string) => () =>
    Promise.reject(new RpcError("UNIMPLEMENTED", `method ${name} not implemented`));
  const missingStream = (name: string) => () => ({
    [Symbol.asyncIterator]: () => ({ next: missing(name) }),
  });
  return {
    handshake: missing("Handshake"),
    parameterize: missing("Parameterize"),
    getSchema: missing("GetSchema"),
    checkConfig: missing("CheckConfig"),
    diffConfig: missing("DiffConfig"),
    configure: missing("Configure"),
    invoke: missing("Invoke"),
    streamInvoke: missingStream("StreamInvoke"),
    call: missing("Call"),
    check: missing("Check"),
    diff: missing("Diff"),
    create: missing("Create"),
    read: missing("Read"),
    list: missingStream("List"),
    update: missing("Update"),
    delete: missing("Delete"),
    construct: missing("Construct"),
    cancel: missing("Cancel"),
    getPluginInfo: missing("GetPluginInfo"),
    attach: missing("Attach"),
    getMapping: missing("GetMapping"),
    getMappings: missing("GetMappings"),
  };
}
