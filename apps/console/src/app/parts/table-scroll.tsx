import { type ReactNode, useEffect, useRef, useState } from "react";

/** A table that may be wider than the screen. Where it is, the keyboard reaches and scrolls it; elsewhere it is no stop on the way. */
export function TableScroll({ children }: { readonly children: ReactNode }) {
  const box = useRef<HTMLDivElement>(null);
  const [isWide, setIsWide] = useState(false);
  useEffect(() => {
    const { current } = box;
    if (current === null) return undefined;
    const measure = (): void => setIsWide(current.scrollWidth > current.clientWidth);
    const observer = new ResizeObserver(measure);
    observer.observe(current);
    if (current.firstElementChild !== null) observer.observe(current.firstElementChild);
    return () => observer.disconnect();
  }, []);
  return (
    <div ref={box} className="table-scroll" tabIndex={isWide ? 0 : undefined}>
      {children}
    </div>
  );
}
