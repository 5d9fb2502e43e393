/** The sign of Gatehouse: a gate. */
export function Brand({ className }: { className?: string }) {
  return (
    <svg viewBox="0 0 20 20" fill="none" stroke="currentColor" strokeWidth="1.75" strokeLinecap="square" aria-hidden className={`text-accent-ink ${className ?? ""}`}>
      <path d="M2.5 17.5V9.2C2.5 5 5.8 2 10 2s7.5 3 7.5 7.2v8.3" />
      <path d="M6.5 17.5V9.8C6.5 7.5 8 6 10 6s3.5 1.5 3.5 3.8v7.7" />
      <path d="M10 10.5v7" />
    </svg>
  );
}
