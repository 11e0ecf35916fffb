(* What the generators cost and how they are sampled: merging and forgetting, the misprint, Pinsker for
   Jensen-Shannon, the two forms on samples, the dials in closed form. *)
Require Import Reals List Lra Lia. From Coquelicot Require Import Coquelicot.
From Kernel Require Import Laws Pinsker KLControl Frontier Divergences Generators Processing Refuted.
Import ListNotations. Open Scope R_scope.
Lemma ln_le_mono : forall x y, 0 < x -> x <= y -> ln x <= ln y.
Proof. intros x y P [L| <-]; [left; apply ln_increasing; auto|right; reflexivity]. Qed.
(* Jensen-Shannon stays below 2 log 2, whatever is forgotten. *)
Lemma forgetting_term : forall p q, 0 < p -> 0 < q ->
  p * (ln p - ln ((p + q) / 2)) + q * (ln q - ln ((p + q) / 2)) <= ln 2 * Rabs (p - q).
Proof.
  assert (W : forall p q, 0 < q -> q <= p ->
    p * (ln p - ln ((p + q) / 2)) + q * (ln q - ln ((p + q) / 2)) <= ln 2 * (p - q)).
  { intros p q Q L. rewrite ln_quotient by lra. assert (A : ln p <= ln (p + q)) by (apply ln_le_mono; lra).
    assert (B : ln 2 + ln 2 + ln p + ln q <= ln (p + q) + ln (p + q)).
    { rewrite <- !ln_mult by (repeat apply Rmult_lt_0_compat; lra). apply ln_le_mono; [repeat apply Rmult_lt_0_compat; lra|].
      assert (S := Rle_0_sqr (p - q)). unfold Rsqr in S. lra. }
    assert (0 <= (p - q) * (ln (p + q) - ln p)) by (apply Rmult_le_pos; lra).
    assert (0 <= q * (ln (p + q) + ln (p + q) - (ln 2 + ln 2 + ln p + ln q))) by (apply Rmult_le_pos; lra). lra. }
  intros p q P Q. destruct (Rle_or_lt q p) as [L|L]; [rewrite Rabs_right by lra; apply W; auto|].
  rewrite Rabs_left by lra. replace (- (p - q)) with (q - p) by ring. rewrite (Rplus_comm p q), Rplus_comm. apply W; lra.
Qed.
Theorem forgetting {Y} : forall (ys : list Y) pi ref, law ys pi -> law ys ref -> positive ys pi -> positive ys ref ->
  divergence ys jensen_shannon pi ref <= 2 * ln 2 * tv ys pi ref /\ 2 * ln 2 * tv ys pi ref <= 2 * ln 2.
Proof.
  intros ys pi ref Lp Lr P Q. assert (L2 : 0 < ln 2) by (rewrite <- ln_1; apply ln_increasing; lra). split.
  - destruct (textbook ys pi ref 2 Lp Lr P Q ltac:(lra) ltac:(lra)) as (_ & _ & -> & _). unfold kl, tv. rewrite <- sum_plus.
    replace (2 * ln 2 * (sum ys (fun y => Rabs (pi y - ref y)) / 2)) with (ln 2 * sum ys (fun y => Rabs (pi y - ref y))) by field.
    rewrite <- sum_scale. apply sum_le. intros y I. apply forgetting_term; auto.
  - assert (tv ys pi ref <= 1); [|nra]. unfold tv. assert (S : sum ys (fun y => Rabs (pi y - ref y)) <= sum ys (fun y => pi y + ref y)).
    { apply sum_le. intros y I. assert (A := P y I). assert (B := Q y I). apply Rabs_le. lra. }
    rewrite sum_plus, (proj2 Lp), (proj2 Lr) in S. lra.
Qed.
(* Outcomes merged into classes h y. *)
Definition merged {Y : Type} (ys : list Y) (h : Y -> nat) (q : Y -> R) (z : nat) : R := mass ys q (fun y => Nat.eqb (h y) z).
Lemma one_class : forall (zs : list nat) c, NoDup zs -> In c zs -> sum zs (fun z => one (Nat.eqb c z)) = 1.
Proof.
  induction zs as [|z zs IH]; intros c N I; [contradiction|]. inversion N; subst. simpl. destruct I as [->|I].
  - rewrite Nat.eqb_refl, sum_zero; [simpl; lra|]. intros w J. destruct (Nat.eqb_spec c w); [subst; contradiction|reflexivity].
  - rewrite IH by auto. destruct (Nat.eqb_spec c z); [subst; contradiction|simpl; lra].
Qed.
Theorem merging {Y} : forall (ys : list Y) (zs : list nat) h f f1 f2 pi ref, curved f f1 f2 -> law ys pi -> law ys ref ->
  positive ys pi -> positive ys ref -> NoDup zs -> (forall y, In y ys -> In (h y) zs) ->
  divergence zs f (merged ys h pi) (merged ys h ref) <= divergence ys f pi ref.
Proof.
  intros ys zs h f f1 f2 pi ref K Lp Lr P Q N H.
  assert (T : above_tangents f f1) by (intros x w Hx Hw; apply (tangent f f1 f2 x w K Hx Hw)).
  apply Rle_trans with (sum zs (fun z => sum ys (fun y => one (Nat.eqb (h y) z) * (ref y * f (pi y / ref y))))).
  - apply sum_le. intros z _. unfold merged. set (c := fun y => Nat.eqb (h y) z).
    change (sum ys (fun y => one (Nat.eqb (h y) z) * (ref y * f (pi y / ref y)))) with
      (sum ys (fun y => one (c y) * (ref y * f (pi y / ref y)))).
    assert (zero : forall q, law ys q -> positive ys q -> mass ys q c = 0 -> forall y, In y ys -> c y = false).
    { intros q L W Z y I. assert (E := sum_zero_each ys _ (mass_weights ys q c L) Z y I). assert (B := W y I).
      simpl in E. destruct (c y); [simpl in E; lra|reflexivity]. }
    assert (gone : (forall y, In y ys -> c y = false) -> sum ys (fun y => one (c y) * (ref y * f (pi y / ref y))) = 0).
    { intro G. apply sum_zero. intros y I. rewrite (G y I). simpl. ring. }
    destruct (mass_bounds ys ref c Lr) as [[Mr|Mr] _].
    + destruct (mass_bounds ys pi c Lp) as [[Mp|Mp] _]; [apply (part_costs ys f f1); auto|].
      exfalso. assert (G := zero pi Lp P (eq_sym Mp)). unfold mass in Mr. rewrite sum_zero in Mr; [lra|].
      intros y I. rewrite (G y I). simpl. ring.
    + rewrite <- Mr, (gone (zero ref Lr Q (eq_sym Mr))). right. ring.
  - right. rewrite <- sum_swap. apply sum_ext. intros y I.
    rewrite (sum_ext zs _ (fun z => ref y * f (pi y / ref y) * one (Nat.eqb (h y) z))) by (intros; ring).
    rewrite sum_scale, one_class by auto. ring.
Qed.
(* What the misprint computes, and that it is least at pi = ref, where it is - log 2. *)
Theorem misprint_value {Y} : forall (ys : list Y) pi ref, law ys pi -> law ys ref -> positive ys pi -> positive ys ref ->
  divergence ys misprint pi ref = kl ys pi ref - kl ys (fun y => (pi y + ref y) / 2) ref - ln 2 /\
  - ln 2 <= divergence ys misprint pi ref /\
  (divergence ys misprint pi ref = - ln 2 <-> forall y, In y ys -> pi y = ref y).
Proof.
  intros ys pi ref Lp Lr P Q. set (m := fun y => (pi y + ref y) / 2).
  assert (V : divergence ys misprint pi ref = kl ys pi ref - kl ys m ref - ln 2).
  { replace (ln 2) with (ln 2 * sum ys pi) by (rewrite (proj2 Lp); ring). unfold kl, divergence.
    rewrite <- sum_scale, <- !sum_minus. apply sum_ext. intros y I. assert (A := P y I). assert (B := Q y I).
    unfold misprint, m. assert (0 < pi y / ref y) by (apply Rdiv_lt_0_compat; lra).
    replace ((pi y / ref y + 1) / 2) with ((pi y + ref y) / 2 / ref y) by (field; lra).
    rewrite (ln_quotient (pi y / ref y)), !ln_quotient by lra. field. lra. }
  assert (C : kl ys m ref <= kl ys pi ref / 2).
  { destruct (named_bent 2 reverse (fun u => ln u + 1) (fun u => / u) ltac:(lra) ltac:(lra) ltac:(simpl; tauto)) as [B _].
    apply Rle_trans with (sum ys (fun y => / 2 * (pi y * (ln (pi y) - ln (ref y))))); [|rewrite sum_scale; unfold kl, Rdiv; lra].
    apply sum_le. intros y I. assert (A := P y I). assert (D := Q y I).
    assert (U : 0 < pi y / ref y) by (apply Rdiv_lt_0_compat; lra).
    assert (E := chord _ _ _ (pi y / ref y) 1 (/ 2) (proj1 (bent_curved _ _ _ B)) U Rlt_0_1 ltac:(lra)).
    unfold reverse in E. rewrite ln_1, (ln_quotient (pi y)) in E by lra. apply (Rmult_le_compat_l (ref y)) in E; [|lra].
    replace ((1 - / 2) * (pi y / ref y) + / 2 * 1) with (m y / ref y) in E by (unfold m; field; lra).
    unfold m in *. rewrite ln_quotient in E by lra. field_simplify in E; lra. }
  destruct (kl_nonneg ys pi ref Lp Lr (fun y I _ => Q y I)) as [N E].
  split; [exact V|]. split; [lra|]. rewrite <- E. split; intro H; [lra|].
  assert (M : kl ys m ref = 0); [|lra]. apply sum_zero. intros y I. unfold m.
  rewrite (proj1 E H y I). replace ((ref y + ref y) / 2) with (ref y) by field. ring.
Qed.
Theorem pinsker_for_js {Y} : forall (ys : list Y) pi ref, law ys pi -> law ys ref -> positive ys pi -> positive ys ref ->
  tv ys pi ref ^ 2 <= divergence ys jensen_shannon pi ref.
Proof.
  intros ys pi ref Lp Lr P Q. destruct (textbook ys pi ref 2 Lp Lr P Q ltac:(lra) ltac:(lra)) as (_ & _ & -> & _).
  set (m := fun y => (pi y + ref y) / 2).
  assert (C : positive ys m) by (intros y I; assert (A := P y I); assert (B := Q y I); unfold m; lra).
  assert (Lm : law ys m).
  { split; [intros y I; apply Rlt_le, C, I|]. unfold m, Rdiv.
    rewrite (sum_ext ys _ (fun y => / 2 * (pi y + ref y))), sum_scale, sum_plus, (proj2 Lp), (proj2 Lr) by (intros; ring). field. }
  assert (half : forall q, (forall y, In y ys -> Rabs (q y - m y) = / 2 * Rabs (pi y - ref y)) -> tv ys q m = tv ys pi ref / 2).
  { intros q H. unfold tv. rewrite (sum_ext ys _ _ H), sum_scale. field. }
  assert (A := pinsker ys pi m Lp Lm (fun y I _ => C y I)). assert (B := pinsker ys ref m Lr Lm (fun y I _ => C y I)).
  rewrite half in A, B; [lra| |]; intros y I; unfold m.
  - replace (ref y - (pi y + ref y) / 2) with (/ 2 * - (pi y - ref y)) by field. rewrite Rabs_mult, Rabs_Ropp, Rabs_right; lra.
  - replace (pi y - (pi y + ref y) / 2) with (/ 2 * (pi y - ref y)) by field. rewrite Rabs_mult, (Rabs_right (/ 2)); lra.
Qed.
(* The generator form f(u) on stored samples of ref, the definition form f(u)/u on samples of pi. *)
Definition variance {Y : Type} (ys : list Y) (q x : Y -> R) : R := sum ys (fun y => q y * x y ^ 2) - sum ys (fun y => q y * x y) ^ 2.
Definition stored {Y : Type} (f : R -> R) (pi ref : Y -> R) (y : Y) : R := f (pi y / ref y).
Definition fresh {Y : Type} (f : R -> R) (pi ref : Y -> R) (y : Y) : R := f (pi y / ref y) / (pi y / ref y).
Theorem both_unbiased {Y} : forall (ys : list Y) f pi ref, positive ys pi -> positive ys ref ->
  sum ys (fun y => ref y * stored f pi ref y) = divergence ys f pi ref /\
  sum ys (fun y => pi y * fresh f pi ref y) = divergence ys f pi ref.
Proof.
  intros ys f pi ref P Q. split; [reflexivity|]. apply sum_ext. intros y I. assert (A := P y I). assert (B := Q y I).
  unfold fresh. field. lra.
Qed.
Theorem variance_gap {Y} : forall (ys : list Y) f pi ref, positive ys pi -> positive ys ref ->
  variance ys ref (stored f pi ref) - variance ys pi (fresh f pi ref) =
    sum ys (fun y => ref y * ((1 - 1 / (pi y / ref y)) * f (pi y / ref y) ^ 2)) /\
  variance ys ref (stored f pi ref) + sum ys (fun y => ref y * (ref y / pi y * f (pi y / ref y) ^ 2)) =
    variance ys pi (fresh f pi ref) + sum ys (fun y => ref y * f (pi y / ref y) ^ 2).
Proof.
  intros ys f pi ref P Q. unfold variance. destruct (both_unbiased ys f pi ref P Q) as [-> ->].
  assert (E : sum ys (fun y => ref y * stored f pi ref y ^ 2) - sum ys (fun y => pi y * fresh f pi ref y ^ 2) =
    sum ys (fun y => ref y * ((1 - 1 / (pi y / ref y)) * f (pi y / ref y) ^ 2))).
  { rewrite <- sum_minus. apply sum_ext. intros y I. assert (A := P y I). assert (B := Q y I). unfold stored, fresh. field. lra. }
  split; [lra|].
  rewrite (sum_ext ys (fun y => ref y * ((1 - 1 / _) * _)) (fun y => ref y * f (pi y / ref y) ^ 2 - ref y * (ref y / pi y * f (pi y / ref y) ^ 2))),
    sum_minus in E.
  - unfold stored in *. lra.
  - intros y I. assert (A := P y I). assert (B := Q y I). field. lra.
Qed.
Theorem forward_dial : forall base_rate beta, 0 < base_rate < 1 -> 0 < beta ->
  let L := ((1 + beta) + sqrt ((1 + beta) ^ 2 - 4 * beta * (1 - base_rate))) / 2 in
  let mu := beta * base_rate / (L - 1) in
  beta * ((1 - base_rate) / (1 - mu) - base_rate / mu) = 1 /\ 1 - mu = beta * (1 - base_rate) / L /\ 0 < mu < 1.
Proof.
  intros r b Hr Hb L mu. set (s := sqrt ((1 + b) ^ 2 - 4 * b * (1 - r))) in *.
  assert (D : 0 <= (1 + b) ^ 2 - 4 * b * (1 - r)) by (assert (P := pow2_ge_0 (1 - b)); assert (0 < 4 * b * r) by nra; nra).
  assert (E : s * s = (1 + b) ^ 2 - 4 * b * (1 - r)) by (apply sqrt_sqrt, D). assert (S : 0 <= s) by apply sqrt_pos.
  assert (R1 : Rabs (1 - b) < s).
  { apply Rnot_le_lt. intro H. assert (Q := Rmult_le_compat s (Rabs (1 - b)) s (Rabs (1 - b)) S S H H).
    rewrite E, <- Rabs_mult, Rabs_right in Q by (assert (P := pow2_ge_0 (1 - b)); lra). nra. }
  assert (L1 : 1 < L) by (unfold L; assert (A := Rle_abs (1 - b)); lra).
  assert (Q : L * (L - 1) = b * r * L + b * (1 - r) * (L - 1)) by (unfold L; nra).
  assert (F : 1 - mu = b * (1 - r) / L).
  { unfold mu. apply Rmult_eq_reg_r with (L * (L - 1)); [|nra]. field_simplify; [nra|lra|lra]. }
  assert (M : 0 < mu) by (unfold mu; apply Rdiv_lt_0_compat; nra).
  assert (G : 0 < b * (1 - r) / L) by (apply Rdiv_lt_0_compat; nra). repeat split; auto; [|lra].
  rewrite F. unfold mu. field. repeat split; nra.
Qed.
Definition pearson_objective (base_rate beta m : R) : R := m - beta * divergence two pearson (coin m) (coin base_rate).
Theorem pearson_dial : forall base_rate beta m, 0 < base_rate < 1 -> 0 < beta -> 0 <= m <= 1 ->
  let mu := Rmin 1 (base_rate + (1 - base_rate) * base_rate / (2 * beta)) in
  pearson_objective base_rate beta m <= pearson_objective base_rate beta mu /\
  (pearson_objective base_rate beta m = pearson_objective base_rate beta mu -> m = mu).
Proof.
  intros r b m Hr Hb Hm mu. set (q := (1 - r) * r). assert (Q : 0 < q) by (unfold q; nra).
  assert (O : forall m, pearson_objective r b m = m - b / q * (m - r) ^ 2).
  { intro x. unfold pearson_objective, divergence, pearson, two, coin. simpl. unfold q. field. lra. }
  rewrite !O. assert (B : 0 < b / q) by (apply Rdiv_lt_0_compat; auto). set (k := b / q) in *.
  assert (S : q / (2 * b) = / (2 * k)) by (unfold k; field; lra). unfold mu. fold q. rewrite S. unfold Rmin.
  assert (I : 2 * k * / (2 * k) = 1) by (field; lra). set (s := / (2 * k)) in *. assert (0 < s) by (apply Rinv_0_lt_compat; lra).
  destruct (Rle_dec 1 (r + s)) as [C|C].
  - assert (G : (1 - k * (1 - r) ^ 2) - (m - k * (m - r) ^ 2) = (1 - m) * (1 - k * (1 + m - 2 * r))) by ring.
    assert (K : k * (1 + m - 2 * r) <= 1 - k * (1 - m)) by nra. split.
    + assert (0 <= (1 - m) * (1 - k * (1 + m - 2 * r))) by (apply Rmult_le_pos; nra). lra.
    + intro E. assert (Z : (1 - m) * (1 - k * (1 + m - 2 * r)) = 0) by lra. apply Rmult_integral in Z. destruct Z; nra.
  - assert (G : (r + s - k * (r + s - r) ^ 2) - (m - k * (m - r) ^ 2) = k * (m - (r + s)) ^ 2).
    { replace (k * (m - (r + s)) ^ 2) with (k * (m - r) ^ 2 - 2 * k * s * (m - r) + k * s * s) by ring. rewrite I.
      assert (k * s * s = s / 2) by nra. nra. }
    assert (P := pow2_ge_0 (m - (r + s))). split; [nra|]. intro E. assert (Z : (m - (r + s)) ^ 2 = 0) by nra. nra.
Qed.
