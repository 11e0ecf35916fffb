(* f-divergences: every f has one shape of law, gauges, the rehearsal guarantee. *)
Require Import Reals List Lra. From Coquelicot Require Import Coquelicot.
From Kernel Require Import Laws Pinsker KLControl Frontier.
Import ListNotations. Open Scope R_scope.
(* E_ref f(u), u = pi/ref *)
Definition divergence {Y : Type} (ys : list Y) (f : R -> R) (pi ref : Y -> R) : R :=
  sum ys (fun y => ref y * f (pi y / ref y)).
Lemma sum_split {Y} : forall (ys : list Y) (v : Y -> bool) g,
  sum ys g = sum ys (fun y => one (v y) * g y) + sum ys (fun y => one (negb (v y)) * g y).
Proof. intros. rewrite <- sum_plus. apply sum_ext. intros y _. destruct (v y); simpl; ring. Qed.
Theorem one_shape {Y} : forall (ys : list Y) f base valid mu, law ys base -> positive ys base ->
  0 < mass ys base valid < 1 ->
  divergence ys f (mixture ys base valid mu) base =
  mass ys base valid * f (mu / mass ys base valid)
    + (1 - mass ys base valid) * f ((1 - mu) / (1 - mass ys base valid)).
Proof.
  intros ys f a v mu L P M. set (m := mass ys a v) in *.
  assert (S := sum_of_verdicts ys a v (f (mu / m)) (f ((1 - mu) / (1 - m)))). rewrite (proj2 L) in S. fold m in S.
  rewrite <- S. apply sum_ext. intros y I. assert (A := P y I). f_equal.
  unfold mixture, filtered. rewrite mass_negb, (proj2 L). fold m. destruct (v y); simpl; f_equal; field; lra.
Qed.
(* A part of base mass A costs at least A f(Q/A). *)
Lemma part_costs {Y} : forall (ys : list Y) f slope q a v, above_tangents f slope -> positive ys q -> positive ys a ->
  0 < mass ys a v -> 0 < mass ys q v ->
  mass ys a v * f (mass ys q v / mass ys a v) <= sum ys (fun y => one (v y) * (a y * f (q y / a y))).
Proof.
  intros ys f s q a v T Q A Ma Mq. set (m := mass ys q v / mass ys a v).
  assert (Hm : 0 < m) by (apply Rdiv_lt_0_compat; auto).
  assert (E : mass ys a v * f m = sum ys (fun y => one (v y) * (a y * (f m + s m * (q y / a y - m))))).
  { rewrite (sum_ext ys _ (fun y => (f m - s m * m) * (one (v y) * a y) + s m * (one (v y) * q y))).
    - rewrite sum_plus, !sum_scale. fold (mass ys a v) (mass ys q v).
      replace (mass ys q v) with (m * mass ys a v) by (unfold m; field; lra). ring.
    - intros y I. assert (P := A y I). field. lra. }
  rewrite E. apply sum_le. intros y I. assert (P := A y I). assert (W := Q y I).
  assert (B := T (q y / a y) m ltac:(apply Rdiv_lt_0_compat; auto) Hm).
  unfold one. destruct (v y); [|lra]. rewrite !Rmult_1_l. apply Rmult_le_compat_l; lra.
Qed.
Theorem verdicts_cost {Y} : forall (ys : list Y) f f1 f2 q base valid, curved f f1 f2 -> law ys q -> positive ys q ->
  law ys base -> positive ys base -> 0 < mass ys base valid < 1 -> 0 < mass ys q valid < 1 ->
  mass ys base valid * f (mass ys q valid / mass ys base valid)
    + (1 - mass ys base valid) * f ((1 - mass ys q valid) / (1 - mass ys base valid)) <= divergence ys f q base.
Proof.
  intros ys f f1 f2 q a v K Lq Q La A Ma Mq.
  assert (T : above_tangents f f1) by (intros x w Hx Hw; apply (tangent f f1 f2 x w K Hx Hw)).
  unfold divergence. rewrite (sum_split ys v). assert (B1 := part_costs ys f f1 q a v T Q A (proj1 Ma) (proj1 Mq)).
  assert (Na := mass_negb ys a v). assert (Nq := mass_negb ys q v). rewrite (proj2 La) in Na. rewrite (proj2 Lq) in Nq.
  assert (B0 := part_costs ys f f1 q a (fun y => negb (v y)) T Q A ltac:(lra) ltac:(lra)). rewrite Na, Nq in B0. lra.
Qed.
Theorem gauge {Y} : forall (ys : list Y) f pi ref c, law ys pi -> law ys ref -> positive ys ref ->
  sum ys (fun y => ref y * (f (pi y / ref y) + c * (pi y / ref y - 1))) = divergence ys f pi ref.
Proof.
  intros ys f pi ref c [_ S] [_ T] P. unfold divergence.
  rewrite (sum_ext ys _ (fun y => ref y * f (pi y / ref y) + c * (pi y - ref y))).
  - rewrite sum_plus, sum_scale, sum_minus, S, T. ring.
  - intros y I. assert (A := P y I). field. lra.
Qed.
(* u is the ratio m/A1: the root of f' = -c, or 1/A1 where f' is still below -c there. pi may have no mass on wrong
   answers, as it must where u = 1/A1. *)
Theorem minimiser {Y} : forall (ys : list Y) f f1 f2 pi base valid c u, curved f f1 f2 -> law ys pi ->
  (forall y, In y ys -> valid y = true -> 0 < pi y) -> law ys base -> positive ys base -> 0 < mass ys base valid -> 0 < u ->
  (f1 u + c = 0 \/ (f1 u + c <= 0 /\ u = 1 / mass ys base valid)) ->
  - sum ys (fun y => filtered ys base valid y * (f (pi y / base y) + c * (pi y / base y - 1))) <=
  - (f u + c * (u - 1)) /\
  ((forall y, In y ys -> valid y = true -> pi y / base y = u) ->
   sum ys (fun y => filtered ys base valid y * (f (pi y / base y) + c * (pi y / base y - 1))) = f u + c * (u - 1)) /\
  ((forall x, 0 < x -> 0 < f2 x) ->
   sum ys (fun y => filtered ys base valid y * (f (pi y / base y) + c * (pi y / base y - 1))) = f u + c * (u - 1) ->
   forall y, In y ys -> valid y = true -> pi y / base y = u).
Proof.
  intros ys f f1 f2 pi a v c u K Lp P La A M U O. assert (F := filtered_law ys a v La M).
  set (loss := sum ys (fun y => filtered ys a v y * (f (pi y / a y) + c * (pi y / a y - 1)))).
  assert (none : forall y, v y = false -> filtered ys a v y = 0)
    by (intros y V; unfold filtered; rewrite V; simpl; unfold Rdiv; ring).
  set (A1 := mass ys a v) in *. set (d := f1 u + c) in *. set (b := f u + c * (u - 1)).
  assert (X : sum ys (fun y => filtered ys a v y * (pi y / a y)) = mass ys pi v / A1).
  { unfold mass, Rdiv at 2. rewrite Rmult_comm, <- sum_scale. apply sum_ext. intros y I. assert (B := A y I).
    unfold filtered. fold A1. field. lra. }
  assert (D : 0 <= d * (mass ys pi v / A1 - u)).
  { destruct O as [->|[N E]]; [lra|]. rewrite <- (Rmult_opp_opp d). apply Rmult_le_pos; [lra|].
    assert (mass ys pi v / A1 <= 1 / A1); [|lra].
    apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat, M|]. apply mass_bounds, Lp. }
  (* The part of each answer above the tangent at u. *)
  set (gap := fun y => filtered ys a v y * (f (pi y / a y) + c * (pi y / a y - 1) - (b + d * (pi y / a y - u)))).
  assert (ratio : forall y, In y ys -> v y = true -> 0 < pi y / a y) by (intros; apply Rdiv_lt_0_compat; auto).
  assert (W : weights ys gap).
  { intros y I. unfold gap. destruct (v y) eqn:V; [|rewrite none by exact V; lra]. apply Rmult_le_pos; [apply F, I|].
    destruct (tangent f f1 f2 (pi y / a y) u K (ratio y I V) U) as [B _]. unfold b, d. lra. }
  assert (S : sum ys gap = loss - b - d * (mass ys pi v / A1 - u)).
  { unfold gap. rewrite (sum_ext ys _ (fun y => filtered ys a v y * (f (pi y / a y) + c * (pi y / a y - 1))
      - ((b - d * u) * filtered ys a v y + d * (filtered ys a v y * (pi y / a y))))) by (intros; ring).
    rewrite sum_minus, sum_plus, !sum_scale, X, (proj2 F). unfold loss. ring. }
  assert (N := sum_nonneg ys gap W). split; [lra|]. split.
  - intro E. unfold loss. rewrite (sum_ext ys _ (fun y => b * filtered ys a v y)), sum_scale, (proj2 F); [ring|].
    intros y I. destruct (v y) eqn:V; [rewrite (E y I V); unfold b; ring|rewrite none by exact V; ring].
  - intros B E y I V. assert (Z := sum_zero_each ys gap W ltac:(lra) y I). unfold gap in Z.
    assert (Q := filtered_positive ys a v y A M I V). apply Rmult_integral in Z. destruct Z as [Z|Z]; [lra|].
    destruct (Req_dec (pi y / a y) u) as [|G]; [assumption|exfalso].
    destruct (tangent f f1 f2 (pi y / a y) u K (ratio y I V) U) as [_ T]. specialize (T B G). unfold b, d in Z. lra.
Qed.
(* exp(-KL(q||p)), which is 0 where p lacks a mass that q has. *)
Definition lacks {Y : Type} (ys : list Y) (p q : Y -> R) : list Y :=
  filter (fun y => if Rlt_dec 0 (q y) then (if Rlt_dec 0 (p y) then false else true) else false) ys.
Definition exp_minus_kl {Y : Type} (ys : list Y) (q p : Y -> R) : R :=
  match lacks ys p q with [] => exp (- kl ys q p) | _ => 0 end.
Lemma lacks_nothing {Y} : forall (ys : list Y) p q, lacks ys p q = [] -> covers ys p q.
Proof.
  intros ys p q E y I H. destruct (Rlt_dec 0 (p y)) as [|N]; auto. exfalso.
  assert (J : In y (lacks ys p q)); [|rewrite E in J; exact J].
  apply filter_In. split; auto. destruct (Rlt_dec 0 (q y)); [|contradiction]. destruct (Rlt_dec 0 (p y)); [contradiction|auto].
Qed.
Lemma kl_from_filtered {Y} : forall (ys : list Y) pi a v, law ys a -> positive ys a -> 0 < mass ys a v -> law ys pi ->
  0 < mass ys pi v -> covers ys pi (filtered ys a v) ->
  kl ys (filtered ys a v) pi = kl ys (filtered ys a v) (filtered ys pi v) - ln (mass ys pi v).
Proof.
  intros ys pi a v La A M Lp Mp C. assert (F := filtered_law ys a v La M).
  assert (E : ln (mass ys pi v) = sum ys (fun y => ln (mass ys pi v) * filtered ys a v y)).
  { rewrite sum_scale, (proj2 F). ring. }
  rewrite E. unfold kl. rewrite <- sum_minus. apply sum_ext. intros y I. destruct (v y) eqn:V.
  - assert (H := C y I (filtered_positive ys a v y A M I V)). unfold filtered at 5. rewrite V. simpl.
    rewrite Rmult_1_l, ln_quotient by lra. ring.
  - unfold filtered. rewrite V. simpl. unfold Rdiv. ring.
Qed.
Lemma covered_mass {Y} : forall (ys : list Y) pi a v, positive ys a -> 0 < mass ys a v -> law ys pi ->
  covers ys pi (filtered ys a v) -> 0 < mass ys pi v.
Proof.
  intros ys pi a v A M Lp C. destruct (mass_bounds ys pi v Lp) as [[P|Z] _]; [exact P|exfalso].
  assert (N := mass_weights ys pi v Lp).
  assert (mass ys a v = 0); [|lra]. apply sum_zero. intros y I. destruct (v y) eqn:V; simpl; [|ring].
  assert (H := C y I (filtered_positive ys a v y A M I V)).
  assert (K := sum_zero_each ys _ N (eq_sym Z) y I). simpl in K. rewrite V in K. simpl in K. lra.
Qed.
Theorem rehearsal {Y} : forall (ys : list Y) pi base valid, law ys pi -> law ys base -> positive ys base ->
  0 < mass ys base valid -> exp_minus_kl ys (filtered ys base valid) pi <= mass ys pi valid.
Proof.
  intros ys pi a v Lp La A M. unfold exp_minus_kl. destruct (lacks ys pi (filtered ys a v)) eqn:E.
  - assert (C := lacks_nothing ys pi _ E). assert (Mp := covered_mass ys pi a v A M Lp C).
    rewrite (kl_from_filtered ys pi a v) by auto. set (K := kl ys (filtered ys a v) (filtered ys pi v)).
    assert (0 <= K).
    { apply kl_nonneg; try (apply filtered_law; auto). intros y I H. destruct (v y) eqn:V.
      - unfold filtered. rewrite V. simpl. apply Rdiv_lt_0_compat; [|exact Mp]. rewrite Rmult_1_l. apply C; auto.
      - unfold filtered in H. rewrite V in H. simpl in H. unfold Rdiv in H. rewrite !Rmult_0_l in H. lra. }
    apply Rle_trans with (exp (ln (mass ys pi v))); [|rewrite exp_ln; lra].
    destruct (Req_dec K 0) as [->|]; [right; f_equal; ring|left; apply exp_increasing; lra].
  - apply mass_bounds, Lp.
Qed.
Theorem rehearsal_exact {Y} : forall (ys : list Y) pi base valid, law ys pi -> positive ys pi -> law ys base ->
  positive ys base -> 0 < mass ys base valid ->
  exp (- kl ys (filtered ys base valid) pi) =
    mass ys pi valid * exp (- kl ys (filtered ys base valid) (filtered ys pi valid)) /\
  (exp (- kl ys (filtered ys base valid) pi) = mass ys pi valid <->
    forall y, In y ys -> one (valid y) * pi y = mass ys pi valid * filtered ys base valid y).
Proof.
  intros ys pi a v Lp P La A M. assert (C : covers ys pi (filtered ys a v)) by (intros y I _; apply P, I).
  assert (Mp := covered_mass ys pi a v A M Lp C). rewrite (kl_from_filtered ys pi a v) by auto.
  set (K := kl ys (filtered ys a v) (filtered ys pi v)).
  assert (E : exp (- (K - ln (mass ys pi v))) = mass ys pi v * exp (- K)).
  { replace (- (K - ln (mass ys pi v))) with (ln (mass ys pi v) + - K) by ring. rewrite exp_plus, exp_ln; auto. }
  split; [exact E|]. rewrite E.
  destruct (kl_nonneg ys (filtered ys a v) (filtered ys pi v)) as [N Q]; try (apply filtered_law; auto).
  { intros y I H. destruct (v y) eqn:V; [apply filtered_positive; auto|].
    unfold filtered in H. rewrite V in H. simpl in H. unfold Rdiv in H. rewrite !Rmult_0_l in H. lra. }
  fold K in N, Q. split.
  - intros H y I. assert (Z : K = 0).
    { assert (X : exp (- K) = exp 0) by (rewrite exp_0; nra). apply exp_inv in X. lra. }
    rewrite (proj1 Q Z y I). unfold filtered. field. lra.
  - intro H. rewrite (proj2 Q); [rewrite Ropp_0, exp_0; ring|]. intros y I. specialize (H y I).
    unfold filtered at 2. rewrite H. field. lra.
Qed.
(* Under token forward KL a prefix's law is beta a/(l - Q), and its validity l - beta. *)
Theorem value_of_prefix {Y} : forall (ys : list Y) base after beta l, law ys base ->
  (forall y, In y ys -> after y < l) -> sum ys (fun y => beta * base y / (l - after y)) = 1 ->
  l - beta = sum ys (fun y => beta * base y / (l - after y) * after y).
Proof.
  intros ys a Q beta l [_ S] B N. rewrite (sum_ext ys (fun y => beta * a y / (l - Q y) * Q y)
    (fun y => l * (beta * a y / (l - Q y)) - beta * a y)) by (intros y I; specialize (B y I); field; lra).
  rewrite sum_minus, !sum_scale, N, S. ring.
Qed.
