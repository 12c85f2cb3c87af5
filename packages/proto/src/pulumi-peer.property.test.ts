import { describe, expect, test } from "vitest";
import { LoaderService, MapperService } from "./gen/codegen/index.ts";
import {
  AnalyzerService,
  CallbacksService,
  EngineService,
  PackageResolverService,
  ResourceMonitorService,
  ResourceProviderService,
  ResourceStatusService,
} from "./gen/pulumirpc/index.ts";
import { assertAgreement } from "./testing/agreement.ts";
import { compileProtos, messagesOf } from "./testing/descriptors.ts";
import { GENERATED_MODULES } from "./testing/generated-modules.ts";
import { pulumiPeer, pulumiService } from "./testing/pulumi-peer.ts";
import { RandomMessages } from "./testing/random-message.ts";

const registry = compileProtos();
const random = new RandomMessages({
  // google-protobuf reads 64-bit integers into doubles and keeps maps in plain objects.
  safeIntegers: true,
  plainKeys: true,
  // resource_status_pb.js looks for PropertyDiff in itself and cannot encode this field.
  leaveOut: ["pulumirpc.ViewStep.detailed_diff"],
});

describe.each(["pulumirpc", "codegen"])("%s and @pulumi/pulumi agree on", (name) => {
  test.each(messagesOf(registry, name).map((desc) => [desc.typeName, desc] as const))(
    "%s",
    (_, desc) => assertAgreement(GENERATED_MODULES[name] ?? {}, desc, pulumiPeer, random),
  );
});

describe("services have the paths and the streaming of @pulumi/pulumi", () => {
  test.each([
    ["provider", "ResourceProvider", ResourceProviderService],
    ["plugin", "PackageResolver", PackageResolverService],
    ["engine", "Engine", EngineService],
    ["callback", "Callbacks", CallbacksService],
    ["resource", "ResourceMonitor", ResourceMonitorService],
    ["resource_status", "ResourceStatus", ResourceStatusService],
    ["analyzer", "Analyzer", AnalyzerService],
    ["codegen/loader", "Loader", LoaderService],
    ["codegen/mapper", "Mapper", MapperService],
  ] as const)("%s: %s", (file, name, ours) => {
    const facts = (service: object): unknown[] =>
      Object.values(service)
        .map(({ path, requestStream, responseStream }) => ({ path, requestStream, responseStream }))
        // Gone from Pulumi since April 2025; ours for older peers.
        .filter(({ path }) => path !== "/pulumirpc.ResourceProvider/StreamInvoke");
    expect(facts(ours)).toEqual(facts(pulumiService(file, name)));
  });
});
