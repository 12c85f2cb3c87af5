import { describe, expectTypeOf, it } from "vitest";
import type { Any } from "../gen/google/protobuf/any.ts";
import type {
  CheckRequest,
  CheckResponse,
  ListRequest,
  ListResponse,
  ResourceProviderService,
} from "../gen/pulumirpc/provider.ts";
import type { ShapesService } from "../testing/shapes-service.ts";
import type { RpcClient } from "./client.ts";
import type { RpcCallOptions } from "./client-call.ts";
import type { ServiceImplementation } from "./implement.ts";
import type { ResponseStream } from "./response-stream.ts";
import type { HandlerContext } from "./server-call.ts";
import type { Messages, ServiceDefinition } from "./service.ts";

describe("types", () => {
  it("of a client follow from the generated definition", () => {
    type Client = RpcClient<typeof ResourceProviderService>;
    expectTypeOf<Client["check"]>().toEqualTypeOf<
      (request: CheckRequest, options?: RpcCallOptions) => Promise<CheckResponse>
    >();
    expectTypeOf<Client["list"]>().toEqualTypeOf<
      (request: ListRequest, options?: RpcCallOptions) => ResponseStream<ListResponse>
    >();
    expectTypeOf<RpcClient<typeof ShapesService>["send"]>().toEqualTypeOf<
      (requests: Messages<Any>, options?: RpcCallOptions) => Promise<Any>
    >();
  });

  it("of handlers follow from the generated definition", () => {
    type Implementation = ServiceImplementation<typeof ResourceProviderService>;
    expectTypeOf<Implementation["check"]>().toEqualTypeOf<
      (request: CheckRequest, context: HandlerContext) => CheckResponse | Promise<CheckResponse>
    >();
    expectTypeOf<Implementation["list"]>().toEqualTypeOf<
      (request: ListRequest, context: HandlerContext) => Messages<ListResponse>
    >();
    expectTypeOf<ServiceImplementation<typeof ShapesService>["both"]>().toEqualTypeOf<
      (requests: AsyncIterable<Any>, context: HandlerContext) => Messages<Any>
    >();
  });

  it("of every generated definition fit", () => {
    expectTypeOf<typeof ResourceProviderService>().toExtend<ServiceDefinition>();
  });
});
