import type { FunctionTarget } from "@stackwright/fg-bridge";
import type { PluginTransport } from "@stackwright/tfplugin";

/** Calls of a provider, and the bytes of what was asked and answered. */
export interface Traffic {
  calls: number;
  sent: number;
  received: number;
}

/** The same transport, counting the messages of the protocol. */
export function countedTransport(transport: PluginTransport, traffic: Traffic): PluginTransport {
  return intercept(transport, "unary", 1, traffic);
}

/** The same target, counting the envelopes. */
export function countedTarget(target: FunctionTarget, traffic: Traffic): FunctionTarget {
  return intercept(target, "invoke", 0, traffic);
}

/** Counts what goes through one method: the request is one of its arguments, the response its result. */
function intercept<T extends object>(
  inner: T,
  method: keyof T & string,
  argument: number,
  traffic: Traffic,
): T {
  return new Proxy(inner, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      if (name !== method) return member.bind(target) as unknown;
      return async (...args: unknown[]): Promise<Uint8Array> => {
        traffic.calls += 1;
        traffic.sent += (args[argument] as Uint8Array).length;
        const answer = await (Reflect.apply(member, target, args) as Promise<Uint8Array>);
        traffic.received += answer.length;
        return answer;
      };
    },
  });
}
