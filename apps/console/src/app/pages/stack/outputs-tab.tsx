import type { Shown } from "@stackwright/plan-view/lines";
import { useQuery } from "@tanstack/react-query";
import { ShownText } from "../../parts/shown-text.tsx";
import { Empty, Loaded } from "../../parts/states.tsx";
import { useServer } from "../../session/server-context.tsx";
import { useStackPlace } from "../use-place.ts";
import { DependingStacks } from "./depending-stacks.tsx";
import { stateQuery } from "./stack-queries.ts";
import { useRefreshOnChange } from "./use-refresh-on-change.ts";

/** The outputs of a stack, as they were published, and the stacks that a change of them reaches. */
export function OutputsTab() {
  const place = useStackPlace();
  const { client } = useServer();
  useRefreshOnChange(place, ["state"]);
  const query = useQuery(stateQuery(client, place));
  return (
    <>
      <Loaded query={query} what="outputs">
        {({ outputs }) =>
          outputs.length === 0 ? (
            <Empty title="This stack has no outputs">
              <p>
                Outputs are declared by <code>output</code> blocks and published by each apply.
              </p>
            </Empty>
          ) : (
            <dl className="values">
              {outputs.map(({ name, value }) => (
                <div key={name}>
                  <dt>
                    <code>{name}</code>
                  </dt>
                  <dd>
                    <ShownText value={value as unknown as Shown} />
                  </dd>
                </div>
              ))}
            </dl>
          )
        }
      </Loaded>
      <DependingStacks />
    </>
  );
}
