import { Mark } from "../../parts/mark.tsx";

/** Of an account that is partly removed. */
export function DeletingBadge() {
  return (
    <span className="badge attention">
      <Mark shape="triangle" />a deletion was begun
    </span>
  );
}
