import { encodeMsgpack, Type, Value } from "@stackwright/cty";
import * as t5 from "@stackwright/proto/tfplugin5";
import { launchTerraformProvider } from "@stackwright/tfplugin/launch";
import { recordFigure, spreadOf } from "@stackwright-bench/figures";

/** One way to make the same call; `close` ends what serves it. */
interface Carrier {
  readonly what: string;
  readonly call: () => Promise<unknown>;
  readonly close: () => Promise<void>;
}

const CONCURRENCY = [1, 10, 100];
const ROUNDS = 5;

/**
 * What carrying a call costs this process: ReadResource of the null provider, over both carriers in turns. Processor
 * time of the process, for each call.
 */
export async function carrier(scale: number): Promise<void> {
  const command = process.env.TEST_TOOL_TERRAFORM_PROVIDER_NULL;
  if (command === undefined) {
    console.log("\nCarriers: TEST_TOOL_TERRAFORM_PROVIDER_NULL is not set; see BENCHMARKS.md");
    return;
  }
  const calls = Math.round(2000 * scale);
  const carriers = [await over(command, "grpc-js"), await over(command, "frames")];
  try {
    console.log(
      "\nA call to a provider in Go, us of processor time of the client (least to most of rounds)\n",
    );
    console.log(`| carrier | ${CONCURRENCY.map((n) => `${n} at a time`).join(" | ")} |`);
    console.log(`| --- | ${CONCURRENCY.map(() => "---:").join(" | ")} |`);
    const cells = carriers.map((): string[] => []);
    for (const concurrency of CONCURRENCY) {
      const rounds = carriers.map((): number[] => []);
      for (let round = 0; round <= ROUNDS; round += 1) {
        for (const [index, { call }] of carriers.entries()) {
          const us = await cost(call, calls, concurrency);
          // The first round warms up.
          if (round > 0) rounds[index]?.push(us);
        }
      }
      const [former = [], frames = []] = rounds;
      recordFigure({
        name: "providers: a call, processor time of the client",
        unit: "us",
        size: concurrency,
        of: "calls at a time",
        ours: spreadOf("frames", frames),
        baseline: spreadOf("grpc-js", former),
      });
      for (const [index, values] of rounds.entries()) {
        const sorted = values.toSorted((a, b) => a - b);
        const [least, middle, most] = [sorted[0], sorted[ROUNDS >> 1], sorted.at(-1)];
        cells[index]?.push(`${middle?.toFixed(0)} (${least?.toFixed(0)} to ${most?.toFixed(0)})`);
      }
    }
    for (const [index, { what }] of carriers.entries()) {
      console.log(`| ${what} | ${cells[index]?.join(" | ")} |`);
    }
  } finally {
    for (const { close } of carriers) await close();
  }
}

async function over(command: string, carried: "frames" | "grpc-js"): Promise<Carrier> {
  const provider = await launchTerraformProvider({ command, carrier: carried });
  const { transport } = provider;
  await transport.unary("GetSchema", new Uint8Array(), {});
  const request = readRequest();
  const signal = new AbortController().signal;
  return {
    what: carried,
    call: async () => transport.unary("ReadResource", request, { signal }),
    close: () => provider.close(),
  };
}

function readRequest(): Uint8Array {
  const type = Type.object([
    ["id", Type.string],
    ["triggers", Type.map(Type.string)],
  ]);
  const state = Value.object([
    ["id", Value.string("5577006791947779410")],
    ["triggers", Value.map([["text", Value.string("item 17")]])],
  ]);
  const currentState = { msgpack: encodeMsgpack(state, type), json: new Uint8Array() };
  return t5.ReadResource_Request.encode(
    t5.ReadResource_Request.fromPartial({ typeName: "null_resource", currentState }),
  ).finish();
}

/** Microseconds of processor time for each of `calls`, so many at a time. */
async function cost(
  call: () => Promise<unknown>,
  calls: number,
  concurrency: number,
): Promise<number> {
  const before = process.cpuUsage();
  let begun = 0;
  const worker = async (): Promise<void> => {
    while (begun < calls) {
      begun += 1;
      await call();
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / calls;
}
