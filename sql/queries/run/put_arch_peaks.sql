-- Bring the peak rates of the architectures up to date with the arch table.
INSERT INTO arch_peak BY NAME
SELECT arch, a_type, compute_type, peak_gflops FROM peaks AS p
WHERE NOT EXISTS (SELECT 1 FROM arch_peak AS k
                  WHERE k.arch = p.arch AND k.a_type = p.a_type AND k.compute_type = p.compute_type);
