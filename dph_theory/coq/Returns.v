(* Discounted processes: how far a return can lie from its forecast, and what an anchor guarantees. *)
Require Import Reals List Lra Lia. From Coquelicot Require Import Coquelicot.
From Kernel Require Import Laws Extremes Pinsker KLControl Processing.
Import ListNotations. Open Scope R_scope.

(* A channel never spreads differences. *)
Lemma through_abs {Y Z} : forall (ys : list Y) (zs : list Z) w e, channel ys zs w ->
  sum zs (fun z => Rabs (through ys w e z)) <= sum ys (fun y => Rabs (e y)).
Proof.
  intros ys zs w e C. apply Rle_trans with (sum zs (fun z => sum ys (fun y => Rabs (e y) * w y z))).
  - apply sum_le. intros z J. unfold through. apply Rle_trans with (1 := sum_abs _ _). right. apply sum_ext. intros y I.
    rewrite Rabs_mult, (Rabs_right (w y z)); [reflexivity|]. apply Rle_ge, (C y I), J.
  - right. rewrite <- sum_swap. apply sum_ext. intros y I. rewrite sum_scale, (proj2 (C y I)). ring.
Qed.
Section Returns.
Context {S A : Type} (ss : list S) (acts : list A) (P : S -> A -> S -> R) (r : S -> A -> R) (gamma : R) (rho : S -> R).
Definition action_value (V : S -> R) (s : S) (a : A) : R := r s a + gamma * sum ss (fun s' => P s a s' * V s').
(* V is the value of a policy, d its normalised discounted visits. *)
Definition values (pi : S -> A -> R) (V : S -> R) : Prop :=
  forall s, In s ss -> V s = sum acts (fun a => pi s a * action_value V s a).
Definition visited (pi : S -> A -> R) (d : S -> R) : Prop :=
  law ss d /\ forall s, In s ss -> d s = (1 - gamma) * rho s + gamma * through ss (move acts P pi) d s.
Definition advantage (V : S -> R) (s : S) (a : A) : R := action_value V s a - V s.
(* E_pi A(s, .) *)
Definition gained (V : S -> R) (pi : S -> A -> R) (s : S) : R := sum acts (fun a => pi s a * advantage V s a).
Definition return_of (V : S -> R) : R := sum ss (fun s => rho s * V s).
Definition forecast (V : S -> R) (d : S -> R) (pi : S -> A -> R) : R :=
  return_of V + sum ss (fun s => d s * gained V pi s) / (1 - gamma).
Definition distance (pi old : S -> A -> R) (s : S) : R := tv acts (pi s) (old s).
Definition process : Prop := ss <> [] /\ acts <> [] /\ (forall s, In s ss -> channel acts ss (P s)) /\ law ss rho /\ 0 <= gamma < 1.
Lemma gained_is : forall V pi s, channel ss acts pi -> In s ss ->
  gained V pi s = sum acts (fun a => pi s a * action_value V s a) - V s.
Proof.
  intros V pi s C I. unfold gained, advantage. rewrite (sum_ext acts _ (fun a => pi s a * action_value V s a - V s * pi s a)) by (intros; ring).
  rewrite sum_minus, sum_scale, (proj2 (C s I)). ring.
Qed.
(* The performance difference, for the advantages of any function V. *)
Lemma difference : forall pi V W d, process -> channel ss acts pi -> values pi W -> visited pi d ->
  (1 - gamma) * (return_of W - return_of V) = sum ss (fun s => d s * gained V pi s).
Proof.
  intros pi V W d (_ & _ & T & _ & G) C HW [Ld D].
  set (mu := fun U s => sum acts (fun a => pi s a * sum ss (fun s' => P s a s' * U s'))).
  assert (K : forall U, sum ss (fun s => d s * (gamma * mu U s - U s)) = - ((1 - gamma) * return_of U)).
  { intro U. assert (X : sum ss (fun s => d s * mu U s) = sum ss (fun s => through ss (move acts P pi) d s * U s)).
    { rewrite (sum_ext ss (fun s => through ss (move acts P pi) d s * U s) (fun s' => sum ss (fun s => d s * move acts P pi s s' * U s'))).
      - rewrite <- sum_swap. apply sum_ext. intros s I. unfold mu, move.
        rewrite (sum_ext ss (fun s' => d s * sum acts (fun a => pi s a * P s a s') * U s') (fun s' => d s * sum acts (fun a => pi s a * P s a s' * U s'))).
        + rewrite sum_scale. f_equal. rewrite <- sum_swap. apply sum_ext. intros a J. rewrite <- sum_scale. apply sum_ext. intros; ring.
        + intros s' _. rewrite Rmult_assoc. f_equal. rewrite Rmult_comm, <- sum_scale. apply sum_ext. intros; ring.
      - intros s' _. unfold through. rewrite Rmult_comm, <- sum_scale. apply sum_ext. intros; ring. }
    rewrite (sum_ext ss _ (fun s => gamma * (d s * mu U s) - d s * U s)) by (intros; ring). rewrite sum_minus, sum_scale, X.
    rewrite (sum_ext ss (fun s => d s * U s) (fun s => (1 - gamma) * (rho s * U s) + gamma * (through ss (move acts P pi) d s * U s)))
      by (intros s I; rewrite (D s I) at 1; ring). rewrite sum_plus, !sum_scale. unfold return_of. ring. }
  set (pay := fun s => sum acts (fun a => pi s a * r s a)).
  assert (E : forall U s, In s ss -> gained U pi s = pay s + (gamma * mu U s - U s)).
  { intros U s I. rewrite gained_is by auto. unfold pay, mu, action_value. rewrite <- sum_scale. unfold Rminus. rewrite <- Rplus_assoc. f_equal.
    rewrite <- sum_plus. apply sum_ext. intros; ring. }
  assert (F : forall U, sum ss (fun s => d s * gained U pi s) = sum ss (fun s => d s * pay s) - (1 - gamma) * return_of U).
  { intro U. rewrite (sum_ext ss _ (fun s => d s * pay s + d s * (gamma * mu U s - U s))) by (intros s I; rewrite (E U s I); ring).
    rewrite sum_plus, K. ring. }
  assert (Z : sum ss (fun s => d s * gained W pi s) = 0).
  { apply sum_zero. intros s I. rewrite gained_is by auto. rewrite <- (HW s I). ring. }
  rewrite F in Z |- *. lra.
Qed.
(* The visits of two policies differ by at most gamma/(1 - gamma) of how the policies differ where the old one goes. *)
Lemma visits_differ : forall pi old d e, process -> channel ss acts pi -> channel ss acts old -> visited pi d -> visited old e ->
  (1 - gamma) * (sum ss (fun s => Rabs (e s - d s)) / 2) <= gamma * sum ss (fun s => e s * distance pi old s).
Proof.
  intros pi old d e (_ & _ & T & _ & G) C C' [Ld D] [Le E]. set (b := fun s => e s - d s).
  set (f := fun s' => sum ss (fun s => e s * through acts (P s) (fun a => old s a - pi s a) s')).
  assert (M : channel ss ss (move acts P pi)).
  { intros s I. apply (through_law acts ss (P s) (pi s) (C s I)), T, I. }
  assert (B : forall s, In s ss -> b s = gamma * (through ss (move acts P pi) b s + f s)).
  { intros s I. unfold b at 1. rewrite (E s I), (D s I). unfold f, through, move.
    replace ((1 - gamma) * rho s + gamma * sum ss (fun y => e y * sum acts (fun a => old y a * P y a s)) -
      ((1 - gamma) * rho s + gamma * sum ss (fun y => d y * sum acts (fun a => pi y a * P y a s)))) with
      (gamma * (sum ss (fun y => e y * sum acts (fun a => old y a * P y a s)) - sum ss (fun y => d y * sum acts (fun a => pi y a * P y a s)))) by ring.
    f_equal. rewrite <- sum_minus, <- sum_plus. apply sum_ext. intros y J. unfold b.
    rewrite (sum_ext acts (fun a => (old y a - pi y a) * P y a s) (fun a => old y a * P y a s - pi y a * P y a s)) by (intros; ring).
    rewrite sum_minus. ring. }
  assert (Hf : sum ss (fun s => Rabs (f s)) <= 2 * sum ss (fun s => e s * distance pi old s)).
  { unfold f. apply Rle_trans with (sum ss (fun s' => sum ss (fun s => e s * Rabs (through acts (P s) (fun a => old s a - pi s a) s')))).
    - apply sum_le. intros s' _. apply Rle_trans with (1 := sum_abs _ _). right. apply sum_ext. intros s I.
      rewrite Rabs_mult, (Rabs_right (e s)); [reflexivity|]. apply Rle_ge, Le, I.
    - rewrite <- sum_swap, <- sum_scale. apply sum_le. intros s I. rewrite sum_scale. unfold distance, tv.
      replace (2 * (e s * (sum acts (fun a => Rabs (pi s a - old s a)) / 2))) with (e s * sum acts (fun a => Rabs (old s a - pi s a))).
      + apply Rmult_le_compat_l; [apply Le, I|]. apply through_abs, T, I.
      + replace (sum acts (fun a => Rabs (old s a - pi s a))) with (sum acts (fun a => Rabs (pi s a - old s a)))
          by (apply sum_ext; intros; apply Rabs_minus_sym). field. }
  assert (N : sum ss (fun s => Rabs (b s)) <= gamma * (sum ss (fun s => Rabs (b s)) + sum ss (fun s => Rabs (f s)))).
  { apply Rle_trans with (sum ss (fun s => gamma * (Rabs (through ss (move acts P pi) b s) + Rabs (f s)))).
    - apply sum_le. intros s I. rewrite (B s I) at 1. rewrite Rabs_mult, (Rabs_right gamma) by lra. apply Rmult_le_compat_l; [lra|apply Rabs_triang].
    - rewrite sum_scale, sum_plus. apply Rmult_le_compat_l; [lra|]. assert (H := through_abs ss ss (move acts P pi) b M). lra. }
  change (sum ss (fun s => Rabs (e s - d s))) with (sum ss (fun s => Rabs (b s))). nra.
Qed.
(* The data of two policies: their values and visits. *)
Definition pair (pi old : S -> A -> R) (V W d e : S -> R) : Prop :=
  process /\ channel ss acts pi /\ channel ss acts old /\ values pi W /\ values old V /\ visited pi d /\ visited old e.
Lemma shortfall_is : forall pi old V W d e, pair pi old V W d e ->
  (1 - gamma) * (forecast V e pi - return_of W) = sum ss (fun s => (e s - d s) * gained V pi s).
Proof.
  intros pi old V W d e (G & C & C' & HW & HV & D & E). assert (K := difference pi V W d G C HW D).
  rewrite (sum_ext ss _ (fun s => e s * gained V pi s - d s * gained V pi s)) by (intros; ring). rewrite sum_minus, <- K. unfold forecast.
  destruct G as (_ & _ & _ & _ & G). field. lra.
Qed.
Theorem shortfall_by_span : forall pi old V W d e, pair pi old V W d e ->
  (1 - gamma) ^ 2 * (forecast V e pi - return_of W) <=
  gamma * span ss (gained V pi) * sum ss (fun s => e s * distance pi old s).
Proof.
  intros pi old V W d e H. assert (K := shortfall_is pi old V W d e H). destruct H as (G & C & C' & HW & HV & D & E).
  assert (F := visits_differ pi old d e G C C' D E). assert (Z : sum ss (fun s => e s - d s) = 0) by (rewrite sum_minus, (proj2 (proj1 D)), (proj2 (proj1 E)); ring).
  assert (B := sum_by_span ss (fun s => e s - d s) (gained V pi) (proj1 G) Z). destruct G as (N & _ & _ & _ & G).
  assert (Q : 0 <= span ss (gained V pi)).
  { destruct ss as [|s l]; [contradiction|]. assert (X := le_highest (s :: l) (gained V pi) s ltac:(simpl; auto)).
    assert (Y := lowest_le (s :: l) (gained V pi) s ltac:(simpl; auto)). unfold span. lra. }
  cbv beta in B. rewrite <- K in B. set (x := sum ss (fun s => Rabs (e s - d s)) / 2) in *. set (y := sum ss (fun s => e s * distance pi old s)) in *.
  apply (Rmult_le_compat_l (1 - gamma)) in B; [|lra]. apply (Rmult_le_compat_r _ _ _ Q) in F. lra.
Qed.
Definition worst_advantage (V : S -> R) : R := highest ss (fun s => highest acts (fun a => Rabs (advantage V s a))).
Definition farthest (pi old : S -> A -> R) : R := highest ss (distance pi old).
Lemma gained_small : forall pi old V s, channel ss acts pi -> channel ss acts old -> values old V -> In s ss ->
  Rabs (gained V pi s) <= 2 * distance pi old s * worst_advantage V.
Proof.
  intros pi old V s C C' HV I. assert (Z : gained V old s = 0) by (rewrite gained_is by auto; rewrite <- (HV s I); ring).
  rewrite <- (Rminus_0_r (gained V pi s)), <- Z. unfold gained. rewrite <- sum_minus. apply Rle_trans with (1 := sum_abs _ _).
  unfold distance, tv. replace (2 * (sum acts (fun a => Rabs (pi s a - old s a)) / 2) * worst_advantage V) with
    (sum acts (fun a => worst_advantage V * Rabs (pi s a - old s a))) by (rewrite sum_scale; field).
  apply sum_le. intros a J. rewrite <- Rmult_minus_distr_r, Rabs_mult, Rmult_comm. apply Rmult_le_compat_r; [apply Rabs_pos|].
  apply Rle_trans with (highest acts (fun a => Rabs (advantage V s a))); [apply (le_highest acts (fun a => Rabs (advantage V s a))), J|].
  apply (le_highest ss (fun s => highest acts (fun a => Rabs (advantage V s a)))), I.
Qed.
Lemma distance_nonneg : forall pi old s, 0 <= distance pi old s.
Proof. intros. unfold distance, tv. assert (0 <= sum acts (fun a => Rabs (pi s a - old s a))) by (apply sum_nonneg; intros a _; apply Rabs_pos). lra. Qed.
Lemma span_small : forall pi old V, process -> channel ss acts pi -> channel ss acts old -> values old V ->
  span ss (gained V pi) <= 4 * farthest pi old * worst_advantage V /\ 0 <= worst_advantage V /\ 0 <= farthest pi old.
Proof.
  intros pi old V (N & NA & _) C C' HV. assert (W : 0 <= worst_advantage V).
  { destruct ss as [|s l] eqn:Es; [contradiction|]. destruct acts as [|a k] eqn:Ea; [contradiction|]. rewrite <- Es, <- Ea in *.
    apply Rle_trans with (Rabs (advantage V s a)); [apply Rabs_pos|].
    apply Rle_trans with (highest acts (fun a => Rabs (advantage V s a))); [apply (le_highest acts (fun a => Rabs (advantage V s a))); rewrite Ea; simpl; auto|].
    apply (le_highest ss (fun s => highest acts (fun a => Rabs (advantage V s a)))). rewrite Es; simpl; auto. }
  assert (F : forall s, In s ss -> distance pi old s <= farthest pi old) by (intros s I; apply (le_highest ss (distance pi old)), I).
  assert (F0 : 0 <= farthest pi old).
  { destruct (highest_in ss (distance pi old) N) as (s & I & E). unfold farthest. rewrite E. apply distance_nonneg. }
  assert (B : forall s, In s ss -> Rabs (gained V pi s) <= 2 * farthest pi old * worst_advantage V).
  { intros s I. apply Rle_trans with (1 := gained_small pi old V s C C' HV I). apply Rmult_le_compat_r; [exact W|]. specialize (F s I). lra. }
  split; [|auto]. unfold span, lowest. assert (H1 : highest ss (gained V pi) <= 2 * farthest pi old * worst_advantage V).
  { apply highest_le; [exact N|]. intros s I. specialize (B s I). apply Rle_trans with (2 := B), Rle_abs. }
  assert (H2 : highest ss (fun s => - gained V pi s) <= 2 * farthest pi old * worst_advantage V).
  { apply highest_le; [exact N|]. intros s I. specialize (B s I). rewrite <- Rabs_Ropp in B. apply Rle_trans with (2 := B), Rle_abs. }
  lra.
Qed.
Theorem span_below_trpo : forall pi old V W d e, pair pi old V W d e ->
  gamma * span ss (gained V pi) * sum ss (fun s => e s * distance pi old s) <= 4 * worst_advantage V * gamma * farthest pi old ^ 2.
Proof.
  intros pi old V W d e (G & C & C' & HW & HV & D & E). destruct (span_small pi old V G C C' HV) as (B & Q & F).
  assert (M : sum ss (fun s => e s * distance pi old s) <= farthest pi old).
  { rewrite <- (Rmult_1_r (farthest pi old)), <- (proj2 (proj1 E)), <- sum_scale. apply sum_le. intros s I. rewrite Rmult_comm.
    apply Rmult_le_compat_r; [apply (proj1 E), I|apply (le_highest ss (distance pi old)), I]. }
  assert (M0 : 0 <= sum ss (fun s => e s * distance pi old s)).
  { apply sum_nonneg. intros s I. apply Rmult_le_pos; [apply (proj1 E), I|apply distance_nonneg]. }
  destruct G as (N & _ & _ & _ & G). rewrite !Rmult_assoc, (Rmult_comm 4), !Rmult_assoc, (Rmult_comm (worst_advantage V)), !Rmult_assoc.
  apply Rmult_le_compat_l; [lra|]. set (m := sum ss (fun s => e s * distance pi old s)) in *. set (f := farthest pi old) in *.
  apply Rle_trans with (4 * f * worst_advantage V * m); [apply Rmult_le_compat_r; auto|].
  replace (f ^ 2 * (4 * worst_advantage V)) with (4 * f * worst_advantage V * f) by ring. apply Rmult_le_compat_l; [|exact M].
  apply Rmult_le_pos; [lra|exact Q].
Qed.
Theorem trust_region : forall pi old V W d e, pair pi old V W d e ->
  (1 - gamma) ^ 2 * (forecast V e pi - return_of W) <= 4 * worst_advantage V * gamma * farthest pi old ^ 2.
Proof. intros pi old V W d e H. apply Rle_trans with (1 := shortfall_by_span pi old V W d e H). apply (span_below_trpo pi old V W d e H). Qed.
(* pef is the anchor, U its value. *)
Definition least_gain (V : S -> R) (pef : S -> A -> R) : R := lowest ss (gained V pef).
Definition anchor_penalty (pi pef : S -> A -> R) (U : S -> R) : R := highest ss (fun s => distance pi pef s * span acts (advantage U s)).
Definition anchor_bound (pi pef : S -> A -> R) (V U : S -> R) : R :=
  return_of V + (least_gain V pef - anchor_penalty pi pef U) / (1 - gamma).
Lemma mean_at_least : forall d f c, law ss d -> (forall s, In s ss -> c <= f s) -> c <= sum ss (fun s => d s * f s).
Proof.
  intros d f c [Wd Sd] H. rewrite <- (Rmult_1_r c), <- Sd, <- sum_scale. apply sum_le. intros s I. rewrite Rmult_comm.
  apply Rmult_le_compat_l; [apply Wd, I|apply H, I].
Qed.
Theorem anchored : forall pi pef V W U d c, process -> channel ss acts pi -> channel ss acts pef -> values pi W -> values pef U ->
  visited pi d -> visited pef c -> least_gain V pef - anchor_penalty pi pef U <= (1 - gamma) * (return_of W - return_of V).
Proof.
  intros pi pef V W U d c G C C' HW HU D E. replace (return_of W - return_of V) with ((return_of W - return_of U) + (return_of U - return_of V)) by ring.
  rewrite Rmult_plus_distr_l, (difference pi U W d G C HW D), (difference pef V U c G C' HU E).
  assert (X : least_gain V pef <= sum ss (fun s => c s * gained V pef s)) by (apply mean_at_least; [apply E|intros s I; apply lowest_le, I]).
  assert (Y : - anchor_penalty pi pef U <= sum ss (fun s => d s * gained U pi s)); [|lra].
  apply mean_at_least; [apply D|]. intros s I. apply Rle_trans with (- (distance pi pef s * span acts (advantage U s))).
  { apply Ropp_le_contravar, (le_highest ss (fun s => distance pi pef s * span acts (advantage U s))), I. }
  assert (Z : gained U pef s = 0) by (rewrite gained_is by auto; rewrite <- (HU s I); ring).
  assert (B := sum_by_span acts (fun a => pef s a - pi s a) (advantage U s) (proj1 (proj2 G)) ltac:(rewrite sum_minus, (proj2 (C s I)), (proj2 (C' s I)); ring)).
  cbv beta in B. rewrite (sum_ext acts (fun a => (pef s a - pi s a) * advantage U s a) (fun a => pef s a * advantage U s a - pi s a * advantage U s a)) in B by (intros; ring).
  rewrite sum_minus in B. fold (gained U pef s) (gained U pi s) in B. rewrite Z in B. unfold distance, tv.
  rewrite (sum_ext acts (fun a => Rabs (pi s a - pef s a)) (fun a => Rabs (pef s a - pi s a))) by (intros; apply Rabs_minus_sym). lra.
Qed.
Definition trpo_bound (pi old : S -> A -> R) (V e : S -> R) : R :=
  forecast V e pi - 4 * worst_advantage V * gamma * farthest pi old ^ 2 / (1 - gamma) ^ 2.
Theorem both_bounds : forall pi old pef V W U d e c w, pair pi old V W d e -> channel ss acts pef -> values pef U -> visited pef c ->
  0 <= w <= 1 -> larger (trpo_bound pi old V e) (anchor_bound pi pef V U) <= return_of W /\
  w * trpo_bound pi old V e + (1 - w) * anchor_bound pi pef V U <= return_of W.
Proof.
  intros pi old pef V W U d e c w H C' HU E B. assert (T := trust_region pi old V W d e H). destruct H as (G & C & _ & HW & _ & D & _).
  assert (K := anchored pi pef V W U d c G C C' HW HU D E). destruct G as (_ & _ & _ & _ & G).
  assert (X : trpo_bound pi old V e <= return_of W).
  { unfold trpo_bound. set (y := 4 * _ * _ * _) in *. assert (Q : 0 < (1 - gamma) ^ 2) by (apply pow_lt; lra).
    apply (Rmult_le_reg_l ((1 - gamma) ^ 2)); [exact Q|]. replace ((1 - gamma) ^ 2 * (forecast V e pi - y / (1 - gamma) ^ 2)) with
      ((1 - gamma) ^ 2 * forecast V e pi - y) by (field; lra). lra. }
  assert (Y : anchor_bound pi pef V U <= return_of W).
  { unfold anchor_bound. set (y := least_gain V pef - _) in *. apply (Rmult_le_reg_l (1 - gamma)); [lra|].
    replace ((1 - gamma) * (return_of V + y / (1 - gamma))) with ((1 - gamma) * return_of V + y) by (field; lra). lra. }
  split; [destruct (larger_is (trpo_bound pi old V e) (anchor_bound pi pef V U)) as (_ & _ & [F|F]); rewrite F; auto|nra].
Qed.
(* A share w of the old policy mixed into the anchor. *)
Theorem anchor_beats : forall old pef V U w, 0 <= w -> 0 <= gamma < 1 ->
  let mixed := fun s a => (1 - w) * pef s a + w * old s a in
  (1 - gamma) * (anchor_bound mixed pef V U - return_of V) = least_gain V pef - w * anchor_penalty old pef U /\
  (return_of V < anchor_bound mixed pef V U <-> w * anchor_penalty old pef U < least_gain V pef).
Proof.
  intros old pef V U w Hw G mixed. assert (E : anchor_penalty mixed pef U = w * anchor_penalty old pef U).
  { unfold anchor_penalty. rewrite <- highest_scale by exact Hw. f_equal. apply FunctionalExtensionality.functional_extensionality. intro s.
    rewrite <- Rmult_assoc. f_equal. unfold distance, tv, Rdiv. rewrite <- Rmult_assoc, <- sum_scale. f_equal. apply sum_ext. intros a _.
    unfold mixed. replace ((1 - w) * pef s a + w * old s a - pef s a) with (w * (old s a - pef s a)) by ring.
    rewrite Rabs_mult, (Rabs_right w); lra. }
  assert (K : (1 - gamma) * (anchor_bound mixed pef V U - return_of V) = least_gain V pef - w * anchor_penalty old pef U).
  { unfold anchor_bound. rewrite E. field. lra. }
  split; [exact K|]. split; intro X; nra.
Qed.
Theorem myopic : forall pi old pef V W U d e c, pair pi old V W d e -> channel ss acts pef -> values pef U -> visited pef c ->
  gamma = 0 -> anchor_bound pi pef V U <= trpo_bound pi old V e /\ trpo_bound pi old V e = return_of W.
Proof.
  intros pi old pef V W U d e c H C' HU E Z. destruct (both_bounds pi old pef V W U d e c 0 H C' HU E ltac:(lra)) as [_ B].
  assert (K := shortfall_is pi old V W d e H). destruct H as (_ & _ & _ & _ & _ & [_ D] & [_ F]).
  rewrite (sum_zero ss) in K; [|intros s I; rewrite (D s I), (F s I), Z; ring].
  assert (T : trpo_bound pi old V e = return_of W) by (unfold trpo_bound; rewrite Z in *; lra). rewrite T. split; [lra|reflexivity].
Qed.
End Returns.
