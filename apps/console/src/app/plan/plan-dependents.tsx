import type { Operations } from "@stackwright/client";
import { useQuery } from "@tanstack/react-query";
import { useServer } from "../session/server-context.tsx";

type Dependent = Operations["ListPlanDependents"]["output"]["stacks"][number];

interface PlanDependentsProps {
  readonly place: { readonly project: string; readonly stack: string; readonly run: string };
  readonly digest: string;
}

/** The stacks that depend on outputs which a plan changes. They are for attention: where they are not known, the plan is shown without. */
export function PlanDependents({ place, digest }: PlanDependentsProps) {
  const { client } = useServer();
  const { data } = useQuery({
    queryKey: ["plan-dependents", place.project, place.stack, place.run, digest],
    queryFn: async ({ signal }) => (await client.listPlanDependents(place, { signal })).data,
  });
  if (data === undefined || data.stacks.length === 0) return null;
  const { stacks, more } = data;
  return (
    <details className="card">
      <summary>
        Stacks that depend on outputs which the plan changes ({stacks.length}
        {more && " and more"})
      </summary>
      <ul>
        {stacks.map((one) => (
          <li key={`${one.project}/${one.stack}`}>
            <code>
              {one.project}/{one.stack}
            </code>{" "}
            {howOf(one)}
          </li>
        ))}
      </ul>
    </details>
  );
}

function howOf({ outputs, through, triggered }: Dependent): string {
  const between = through.map(({ project, stack }) => `${project}/${stack}`);
  return [
    ...(outputs.length === 0 ? [] : [`reads ${outputs.join(", ")}`]),
    ...(between.length === 0 ? [] : [`through ${between.join(", ")}`]),
    ...(triggered ? ["a run is requested"] : []),
  ].join("; ");
}
