import * as authpb from "../gen/authpb/index.ts";
import * as cocorpc from "../gen/cocorpc/index.ts";
import * as codegen from "../gen/codegen/index.ts";
import * as etcdserverpb from "../gen/etcdserverpb/index.ts";
import * as googleRpc from "../gen/google/rpc/index.ts";
import * as health from "../gen/grpc/health/v1/index.ts";
import * as consul from "../gen/hashicorp/consul/resource/index.ts";
import * as mvccpb from "../gen/mvccpb/index.ts";
import * as plugin from "../gen/plugin/index.ts";
import * as pulumirpc from "../gen/pulumirpc/index.ts";
import * as storage from "../gen/stackwright/storage/v1/index.ts";
import * as stackwright from "../gen/stackwright/v1/index.ts";
import * as tfplugin5 from "../gen/tfplugin5/index.ts";
import * as tfplugin6 from "../gen/tfplugin6/index.ts";
import type { GeneratedModule } from "./generated-message.ts";

/** The index of every proto package but google.protobuf. */
export const GENERATED_MODULES: Readonly<Record<string, GeneratedModule>> = {
  authpb,
  cocorpc,
  codegen,
  etcdserverpb,
  "google.rpc": googleRpc,
  "grpc.health.v1": health,
  "hashicorp.consul.resource": consul,
  mvccpb,
  plugin,
  pulumirpc,
  "stackwright.storage.v1": storage,
  "stackwright.v1": stackwright,
  tfplugin5,
  tfplugin6,
};
