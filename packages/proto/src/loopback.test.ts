import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Client,
  credentials,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  status,
} from "@grpc/grpc-js";
import { afterEach, describe, expect, test } from "vitest";
import type { EncodedStruct } from "./encoded-struct.ts";
import { ConnInfo, GRPCBrokerClient, GRPCBrokerService } from "./gen/plugin/index.ts";
import {
  CreateRequest,
  CreateResponse,
  ListRequest,
  ListResponse,
  ResourceProviderClient,
  ResourceProviderService,
} from "./gen/pulumirpc/index.ts";

/** The struct {"a": true}. */
const STRUCT = new Uint8Array([10, 7, 10, 1, 97, 18, 2, 32, 1]) as EncodedStruct;

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0).reverse()) close();
});

/** Serves on a unix socket until the test ends, and gives its address. */
async function serve(server: Server): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "stackwright-"));
  const address = `unix:${join(folder, "socket")}`;
  closers.push(() => rmSync(folder, { recursive: true }));
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(address, ServerCredentials.createInsecure(), (error) =>
      error === null ? resolve() : reject(error),
    );
  });
  closers.push(() => server.forceShutdown());
  return address;
}

function closing<C extends Client>(client: C): C {
  closers.push(() => client.close());
  return client;
}

describe("generated services over a unix socket", () => {
  test("carry a unary call", async () => {
    const received: CreateRequest[] = [];
    const server = new Server();
    server.addService(ResourceProviderService, {
      create: (
        call: ServerUnaryCall<CreateRequest, CreateResponse>,
        done: sendUnaryData<CreateResponse>,
      ) => {
        received.push(call.request);
        done(null, CreateResponse.create({ id: "id-1", properties: call.request.properties }));
      },
    });
    const client = closing(
      new ResourceProviderClient(await serve(server), credentials.createInsecure()),
    );

    const request = CreateRequest.create({ urn: "urn:pulumi:s::p::a:b:C::n", properties: STRUCT });
    const response = await new Promise<CreateResponse>((resolve, reject) => {
      client.create(request, (error, value) => (error === null ? resolve(value) : reject(error)));
    });

    expect(received[0]?.urn).toBe(request.urn);
    expect(response.id).toBe("id-1");
    expect(new Uint8Array(response.properties ?? [])).toEqual(STRUCT);
  });

  test("answer UNIMPLEMENTED for a method without a handler", async () => {
    const server = new Server();
    server.addService(ResourceProviderService, {});
    const client = closing(
      new ResourceProviderClient(await serve(server), credentials.createInsecure()),
    );
    const code = await new Promise((resolve) => {
      client.cancel({}, (error) => resolve(error?.code));
    });
    expect(code).toBe(status.UNIMPLEMENTED);
  });

  test("carry a stream from the server", async () => {
    const server = new Server();
    server.addService(ResourceProviderService, {
      list: (call: ServerWritableStream<ListRequest, ListResponse>) => {
        for (let index = 0n; index < call.request.limit; index++) {
          const value = { id: `id-${index}`, name: "" };
          call.write(ListResponse.create({ response: { $case: "result", value } }));
        }
        call.end();
      },
    });
    const client = closing(
      new ResourceProviderClient(await serve(server), credentials.createInsecure()),
    );

    const ids: string[] = [];
    for await (const message of client.list(ListRequest.create({ token: "a:b:C", limit: 3n }))) {
      const { response } = message as ListResponse;
      if (response?.$case === "result") ids.push(response.value.id);
    }
    expect(ids).toEqual(["id-0", "id-1", "id-2"]);
  });

  test("carry streams in both directions", async () => {
    const server = new Server();
    server.addService(GRPCBrokerService, {
      startStream: (call: ServerDuplexStream<ConnInfo, ConnInfo>) => {
        call.on("data", (info: ConnInfo) => call.write({ ...info, address: "/run/x" }));
        call.on("end", () => call.end());
      },
    });
    const client = closing(new GRPCBrokerClient(await serve(server), credentials.createInsecure()));

    const stream = client.startStream();
    stream.write(ConnInfo.create({ serviceId: 1 }));
    stream.write(ConnInfo.create({ serviceId: 2, knock: { knock: true } }));
    stream.end();
    const answers: ConnInfo[] = [];
    for await (const info of stream) answers.push(info as ConnInfo);
    expect(answers.map((info) => [info.serviceId, info.address, info.knock?.knock])).toEqual([
      [1, "/run/x", undefined],
      [2, "/run/x", true],
    ]);
  });
});
