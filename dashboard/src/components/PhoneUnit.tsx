/** The unit of a figure in two-line rows of phones, where no table head names it. */
export function PhoneUnit({ children }: { children: string }) {
  return <span className="hidden phone:inline"> {children}</span>;
}
